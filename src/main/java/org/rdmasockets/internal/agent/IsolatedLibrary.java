package org.rdmasockets.internal.agent;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.instrument.Instrumentation;
import java.lang.module.Configuration;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReader;
import java.lang.module.ModuleReference;
import java.lang.reflect.InvocationTargetException;
import java.net.URI;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.nio.file.Path;
import java.security.CodeSource;
import java.security.ProtectionDomain;
import java.security.cert.Certificate;
import java.util.Enumeration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * The library of the agent with all that it needs, as one module {@code org.rdmasockets} in a layer of its own. The
 * application does not see its classes, and it sees none of the application's; what they share is the JDK.
 *
 * <p>The classes are files in a folder of the agent's jar that is no root of the class path. Any thread may load one.
 */
public final class IsolatedLibrary extends ClassLoader implements Function<String, ClassLoader> {
    private static final String MODULE = "org.rdmasockets";
    private static final String OWN_PACKAGE = "org.rdmasockets.internal.agent";
    private static final String DOCTOR_PACKAGE = "org.rdmasockets.internal.doctor";
    /** It has the interface of the management bean, which the JDK calls. */
    private static final String MANAGEMENT_PACKAGE = "org.rdmasockets";
    private static final String ENTRANCE = OWN_PACKAGE + ".Installation";
    private static final String LOG_SERVICE = "org.slf4j.spi.SLF4JServiceProvider";
    private static final String LOG_PROVIDER = OWN_PACKAGE + ".LogProvider";
    /** Applications name theirs by it. */
    private static final String LOG_PROPERTY = "slf4j.provider";
    private static final String FOLDER = "META-INF/library/";
    private static final String CLASSES = FOLDER + "org/";
    private static final String CLASS = ".class";
    /** Those that the library can do without may be missing in the JVM. */
    private static final List<String> JDK_MODULES = List.of("java.logging", "java.management", "jdk.attach",
            "jdk.management", "jdk.net");

    static {
        registerAsParallelCapable();
    }

    // Neither lambdas nor concatenation below: this runs before each program, and each would cost milliseconds.

    /** Stays open: later, descriptors may be short. */
    private final JarFile jar;
    private final URI location;
    private final ProtectionDomain domain;
    private final Set<String> packages;

    private IsolatedLibrary(URI location) throws IOException {
        super(MODULE, ClassLoader.getPlatformClassLoader());
        this.location = location;
        this.jar = new JarFile(new File(location));
        this.domain = new ProtectionDomain(new CodeSource(location.toURL(), (Certificate[]) null), null);
        this.packages = packages(jar);
    }

    private static Set<String> packages(JarFile jar) {
        Set<String> packages = new HashSet<>();
        for (Enumeration<JarEntry> entries = jar.entries(); entries.hasMoreElements();) {
            String name = entries.nextElement().getName();
            if (name.startsWith(CLASSES) && name.endsWith(CLASS)) {
                packages.add(name.substring(FOLDER.length(), name.lastIndexOf('/')).replace('/', '.'));
            }
        }
        return packages;
    }

    /**
     * Loads the library, opens to it what it needs, and lets it replace the sockets of this JVM; null for no file with
     * rules. An {@code IOException} has a message for people, others say that the JDK or the jar is not as expected.
     */
    public static void install(String rules, Instrumentation jvm) throws Throwable {
        Module library = module(new IsolatedLibrary(jar()).define());
        // These packages have the sockets of TCP, those of UDP, and the switch of native access; only the library is
        // let in.
        jvm.redefineModule(Object.class.getModule(), Set.of(), Map.of(),
                Map.of("java.net", Set.of(library), "sun.nio.ch", Set.of(library), "java.lang", Set.of(library)),
                Set.of(), Map.of());
        try {
            Class.forName(library, ENTRANCE).getMethod("install", String.class).invoke(null, rules);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** Runs a command of the doctor; gives the status for the shell. */
    public static int doctor(List<String> arguments) throws Throwable {
        URI jar = jar();
        ModuleLayer.Controller library = new IsolatedLibrary(jar).define();
        library.enableNativeAccess(module(library)); // the manifest lets this class do so
        try {
            return (int) Class.forName(module(library), DOCTOR_PACKAGE + ".Doctor")
                    .getMethod("run", List.class, PrintStream.class, Path.class)
                    .invoke(null, arguments, System.out, Path.of(jar));
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static Module module(ModuleLayer.Controller library) {
        return library.layer().findModule(MODULE).orElseThrow();
    }

    /** The agent's, wherever this class comes from: the application may have a copy, and earlier on the class path. */
    private static URI jar() throws IOException {
        String entry = FOLDER.concat(ENTRANCE.replace('.', '/')).concat(CLASS);
        URL url = ClassLoader.getSystemResource(entry);
        if (url == null || !url.toString().startsWith("jar:file:")) {
            throw new IOException("the agent must be the jar rdma-sockets-...-agent.jar, which has " + entry);
        }
        return URI.create(url.toString().substring("jar:".length(), url.toString().lastIndexOf("!/")));
    }

    private ModuleLayer.Controller define() {
        ModuleDescriptor.Builder builder = ModuleDescriptor.newModule(MODULE).packages(packages)
                .requires("java.base").requires("java.instrument").exports(OWN_PACKAGE)
                .exports(DOCTOR_PACKAGE).exports(MANAGEMENT_PACKAGE).uses(LOG_SERVICE)
                .provides(LOG_SERVICE, List.of(LOG_PROVIDER));
        ModuleLayer boot = ModuleLayer.boot();
        for (String name : JDK_MODULES) {
            if (boot.findModule(name).isPresent()) {
                builder.requires(name);
            }
        }
        Finder finder = new Finder(new Reference(builder.build(), location));
        Configuration configuration = boot.configuration().resolve(finder, ModuleFinder.of(), Set.of(MODULE));
        return ModuleLayer.defineModules(configuration, List.of(boot), this);
    }

    /** Loads every module of the layer. */
    @Override
    public ClassLoader apply(String module) {
        return this;
    }

    /** Its own classes come before its parent's: asking the parent first costs an exception for each. */
    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (packages.contains(name.substring(0, Math.max(0, name.lastIndexOf('.'))))) {
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded != null ? loaded : findClass(name);
            }
        }
        return name.equals(System.getProperty(LOG_PROPERTY)) ? loadClass(LOG_PROVIDER, resolve)
                : super.loadClass(name, resolve);
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        try (InputStream in = open(name.replace('.', '/').concat(CLASS))) {
            if (in != null) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length, domain);
            }
        } catch (IOException e) {
            throw new ClassNotFoundException(name + " cannot be read from " + location, e);
        }
        throw new ClassNotFoundException(name);
    }

    @Override
    protected Class<?> findClass(String module, String name) {
        try {
            return MODULE.equals(module) ? loadClass(name, false) : null;
        } catch (ClassNotFoundException e) {
            return null;
        }
    }

    @Override
    protected URL findResource(String module, String name) throws IOException {
        JarEntry entry = jar.getJarEntry(FOLDER.concat(name));
        return MODULE.equals(module) && entry != null
                ? URL.of(URI.create("jar:" + location + "!/" + FOLDER + name), new EntryHandler(entry)) : null;
    }

    /** Reads from the jar that is open already: the JDK's handler would open it once more. */
    private final class EntryHandler extends URLStreamHandler {
        private final JarEntry entry;

        EntryHandler(JarEntry entry) {
            this.entry = entry;
        }

        @Override
        protected URLConnection openConnection(URL url) {
            return new URLConnection(url) {
                @Override
                public void connect() {
                    // it is open
                }

                @Override
                public InputStream getInputStream() throws IOException {
                    return jar.getInputStream(entry);
                }
            };
        }
    }

    private InputStream open(String name) throws IOException {
        JarEntry entry = jar.getJarEntry(FOLDER.concat(name));
        return entry == null ? null : jar.getInputStream(entry);
    }

    /** Where the one module is found. */
    private record Finder(ModuleReference reference) implements ModuleFinder {
        @Override
        public Optional<ModuleReference> find(String name) {
            return name.equals(MODULE) ? Optional.of(reference) : Optional.empty();
        }

        @Override
        public Set<ModuleReference> findAll() {
            return Set.of(reference);
        }
    }

    /** The module, whose classes only this class loader reads. */
    private static final class Reference extends ModuleReference {
        Reference(ModuleDescriptor descriptor, URI location) {
            super(descriptor, location);
        }

        @Override
        public ModuleReader open() throws IOException {
            throw new IOException("module " + MODULE + " of the agent is read by its class loader alone");
        }
    }
}
