package org.rdmasockets.benchmark;

import de.erichseifert.vectorgraphics2d.Processors;
import de.erichseifert.vectorgraphics2d.VectorGraphics2D;
import de.erichseifert.vectorgraphics2d.util.PageSize;
import java.awt.Color;
import java.awt.geom.Rectangle2D;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalDouble;
import org.jfree.chart.ChartFactory;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.LogarithmicAxis;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.renderer.category.BarRenderer;
import org.jfree.chart.renderer.category.StandardBarPainter;
import org.jfree.data.Range;
import org.jfree.data.category.DefaultCategoryDataset;

/** Bars of a question's headline figure: scenarios beside each other, a bar for each contender, a logarithmic axis. */
final class Chart {
    private static final int WIDTH = 900;
    private static final int HEIGHT = 450;

    private Chart() {
    }

    static void write(Question question, Answer answer, Path file) throws IOException {
        DefaultCategoryDataset bars = new DefaultCategoryDataset();
        double least = Double.MAX_VALUE;
        double most = 0;
        for (String contender : answer.contenders()) {
            for (String scenario : answer.scenarios()) {
                OptionalDouble median = answer.median(contender, scenario, question.headline());
                // A logarithmic axis has no place for 0.
                if (median.orElse(0) > 0) {
                    bars.addValue(median.getAsDouble(), contender, scenario);
                    least = Math.min(least, median.getAsDouble());
                    most = Math.max(most, median.getAsDouble());
                }
            }
        }
        if (bars.getRowCount() > 0) {
            Files.writeString(file, draw(question, bars, new Range(Math.pow(10, Math.floor(Math.log10(least))),
                    Math.pow(10, Math.floor(Math.log10(most)) + 1))) + "\n");
        }
    }

    /** The bars stand on the floor. */
    private static String draw(Question question, DefaultCategoryDataset bars, Range range) throws IOException {
        JFreeChart chart = ChartFactory.createBarChart(question.title(), null, null, bars);
        CategoryPlot plot = chart.getCategoryPlot();
        LogarithmicAxis axis = new LogarithmicAxis(question.headline().title());
        axis.setExpTickLabelsFlag(false);
        // Both ends: an axis with one of them given keeps the other as it is, and 1 is less than any bar.
        axis.setRange(range);
        plot.setRangeAxis(axis);
        plot.setBackgroundPaint(Color.WHITE);
        plot.setRangeGridlinePaint(Color.GRAY);
        BarRenderer renderer = (BarRenderer) plot.getRenderer();
        renderer.setBase(range.getLowerBound());
        renderer.setBarPainter(new StandardBarPainter());
        renderer.setShadowVisible(false);
        renderer.setItemMargin(0);
        VectorGraphics2D canvas = new VectorGraphics2D();
        chart.draw(canvas, new Rectangle2D.Double(0, 0, WIDTH, HEIGHT));
        ByteArrayOutputStream svg = new ByteArrayOutputStream();
        Processors.get("svg").getDocument(canvas.getCommands(), new PageSize(WIDTH, HEIGHT)).writeTo(svg);
        return svg.toString(StandardCharsets.UTF_8);
    }
}
