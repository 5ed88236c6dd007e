package org.rdmasockets.interop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/** The C program {@code rdma_copy.c}, both ends of rdma-example. */
final class RdmaCopyPeer {
    private RdmaCopyPeer() {
    }

    /**
     * Compiles it, or skips the test with the reason where that cannot be done.
     *
     * @param directory where the program goes
     * @return the program
     */
    static String compileOrSkip(Path directory) throws IOException, InterruptedException {
        return compileOrSkip(directory, "rdma_copy.c", "-lrdmacm");
    }

    /**
     * Compiles a file beside this class, or skips the test with the reason where that cannot be done.
     *
     * @param directory where the outcome goes
     * @param source name of the file
     * @param options of the compiler, besides the usual ones
     * @return the outcome
     */
    static String compileOrSkip(Path directory, String source, String... options)
            throws IOException, InterruptedException {
        boolean headers = Files.exists(Path.of("/usr/include/rdma/rdma_cma.h"));
        boolean compiler = Files.isExecutable(Path.of("/usr/bin/cc"));
        if (!headers || !compiler) {
            String reason = "no C compiler, or no headers: install gcc, libibverbs-dev and librdmacm-dev";
            System.out.println(source + " is not compiled: " + reason);
            Assumptions.abort(reason);
        }
        String compiled = directory.resolve(source.replaceFirst("\\.c$", "")).toString();
        List<String> command = new ArrayList<>(List.of("cc", "-Wall", "-Wextra", "-Werror", "-O1", "-o", compiled,
                Program.file(source), "-libverbs"));
        command.addAll(List.of(options));
        try (Program compile = Program.start(command.toArray(String[]::new))) {
            compile.awaitSuccess();
        }
        return compiled;
    }
}
