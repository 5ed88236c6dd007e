package org.rdmasockets.benchmark;

import java.awt.Color;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.VectorGraphicsEncoder;
import org.knowm.xchart.style.Styler;

/** Bars of a question's headline figure: scenarios beside each other, a bar for each contender. */
final class Chart {
    private static final int WIDTH = 900;
    private static final int HEIGHT = 450;

    private Chart() {
    }

    static void write(Question question, Answer answer, Path file) throws IOException {
        List<String> scenarios = List.copyOf(answer.scenarios());
        CategoryChart chart = new CategoryChartBuilder().width(WIDTH).height(HEIGHT).title(question.title())
                .yAxisTitle(question.headline().title()).build();
        chart.getStyler().setYAxisLogarithmic(true).setLegendPosition(Styler.LegendPosition.OutsideE)
                .setChartBackgroundColor(Color.WHITE);
        double least = Double.MAX_VALUE;
        for (String contender : answer.contenders()) {
            List<Double> values = new ArrayList<>();
            for (String scenario : scenarios) {
                OptionalDouble median = answer.median(contender, scenario, question.headline());
                values.add(median.isPresent() ? median.getAsDouble() : null);
                least = Math.min(least, median.orElse(least));
            }
            chart.addSeries(contender, scenarios, values);
        }
        if (least > 0 && least < Double.MAX_VALUE) {
            // Bars on a logarithmic axis begin somewhere: at the power of ten below them all.
            chart.getStyler().setYAxisMin(Math.pow(10, Math.floor(Math.log10(least))));
            try (OutputStream out = Files.newOutputStream(file)) {
                VectorGraphicsEncoder.saveVectorGraphic(chart, out, VectorGraphicsEncoder.VectorGraphicsFormat.SVG);
            }
        }
    }
}
