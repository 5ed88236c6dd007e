package org.rdmasockets.interop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
        boolean headers = Files.exists(Path.of("/usr/include/rdma/rdma_cma.h"));
        boolean compiler = Files.isExecutable(Path.of("/usr/bin/cc"));
        if (!headers || !compiler) {
            String reason = "no C compiler, or no headers: install gcc, libibverbs-dev and librdmacm-dev";
            System.out.println("rdma_copy.c is not compiled: " + reason);
            Assumptions.abort(reason);
        }
        String program = directory.resolve("rdma_copy").toString();
        try (Program compile = Program.start("cc", "-Wall", "-Wextra", "-Werror", "-O1", "-o", program,
                Program.file("rdma_copy.c"), "-lrdmacm", "-libverbs")) {
            compile.awaitSuccess();
        }
        return program;
    }
}
