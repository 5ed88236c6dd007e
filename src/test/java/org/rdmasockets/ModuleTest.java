package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.io.IOException;
import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The library also works as a named module: the other tests see it on the class path. */
class ModuleTest {
    private static final String MODULE = "org.rdmasockets";

    @Test
    void descriptorNamesAllThatSocketsNeed() throws Exception {
        ModuleLayer layer = layer();
        Class<?> type = layer.findLoader(MODULE).loadClass("org.rdmasockets.RdmaSocket");
        assertEquals(layer.findModule(MODULE).orElseThrow(), type.getModule());
        try (Socket socket = assertInstanceOf(Socket.class, type.getConstructor().newInstance())) {
            socket.setKeepAlive(true);
        }
    }

    @Test
    void exportsWhatUsersName() throws IOException {
        Module module = layer().findModule(MODULE).orElseThrow();
        assertEquals(Set.of("org.rdmasockets", "org.rdmasockets.endpoint", "org.rdmasockets.grpc",
                "org.rdmasockets.micrometer", "org.rdmasockets.rpc", "org.rdmasockets.verbs",
                "org.rdmasockets.verbs.spi"),
                Set.copyOf(module.getPackages().stream().filter(module::isExported).toList()));
    }

    /** The module with what it needs at run time, beside this JVM's class path. */
    @SuppressWarnings("restricted")
    private static ModuleLayer layer() throws IOException {
        ModuleFinder finder;
        try (Stream<Path> libraries = Files.list(Path.of("target", "lib"))) {
            finder = ModuleFinder.of(Stream.concat(Stream.of(Path.of("target", "classes")),
                    libraries.filter(jar -> jar.getFileName().toString().matches("(jctools|slf4j-api).*")))
                    .toArray(Path[]::new));
        }
        ModuleLayer boot = ModuleLayer.boot();
        Configuration configuration = boot.configuration().resolve(finder, ModuleFinder.of(), Set.of(MODULE));
        ModuleLayer.Controller controller = ModuleLayer.defineModulesWithOneLoader(configuration, List.of(boot),
                ClassLoader.getPlatformClassLoader());
        controller.layer().findModule(MODULE).ifPresent(controller::enableNativeAccess);
        return controller.layer();
    }
}
