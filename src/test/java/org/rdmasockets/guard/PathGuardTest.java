package org.rdmasockets.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.RdmaSocket;

/**
 * How long the path of a write and of a read is, in methods and in classes that it enters: what a JVM pays that has not
 * compiled it yet. Counted by a copy of the library that notes each method; an accessor counts as any other. The chunk
 * that is being filled, and whether a write joins the one before, makes a difference of a dozen methods.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class PathGuardTest {
    private static final int WRITE_METHODS = 132;
    private static final int WRITE_CLASSES = 32;
    private static final int READ_METHODS = 89;
    private static final int READ_CLASSES = 24;
    private static final ClassDesc HOOK = ClassDesc.of(EnteredMain.class.getName());
    private static final MethodTypeDesc STRING_TO_VOID = MethodTypeDesc.of(ConstantDescs.CD_void,
            ConstantDescs.CD_String);

    @TempDir
    private Path copy;

    @Test
    void aWriteAndAReadEnterFewMethodsOfFewClasses(TestReporter reporter) throws Exception {
        note(Path.of(RdmaSocket.class.getProtectionDomain().getCodeSource().getLocation().toURI()));
        List<String> said = run();
        String over = check(reporter, said, "write", WRITE_METHODS, WRITE_CLASSES)
                + check(reporter, said, "read", READ_METHODS, READ_CLASSES);
        assertEquals("", over);
    }

    /** Empty, or what is too long and what it enters how often. */
    private static String check(TestReporter reporter, List<String> said, String step, int methods, int classes) {
        List<String> entered = said.stream().filter(line -> line.startsWith(step + " "))
                .flatMap(line -> Arrays.stream(line.split(" ")).skip(1)).toList();
        assertTrue(!entered.isEmpty(), () -> String.join("\n", said));
        TreeMap<String, Integer> calls = new TreeMap<>();
        entered.forEach(method -> calls.merge(method, 1, Integer::sum));
        long entering = entered.stream().map(method -> method.substring(0, method.indexOf('.'))).distinct().count();
        String figures = step + ": " + entered.size() + " methods of " + entering + " classes";
        reporter.publishEntry(step, figures);
        return entered.size() <= methods && entering <= classes ? ""
                : figures + ", and may be " + methods + " of " + classes + ": " + calls + "\n";
    }

    /** Copies the library; each method of the copy says that it begins. */
    private void note(Path library) throws IOException {
        try (Stream<Path> files = Files.walk(library)) {
            for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
                String name = library.relativize(file).toString();
                if (name.startsWith("org") && name.endsWith(".class") && !name.endsWith("-info.class")) {
                    Path target = copy.resolve(name);
                    Files.createDirectories(target.getParent());
                    Files.write(target, noted(Files.readAllBytes(file)));
                }
            }
        }
    }

    private static byte[] noted(byte[] content) {
        ClassFile classFile = ClassFile.of();
        ClassModel model = classFile.parse(content);
        String type = model.thisClass().asInternalName();
        String simple = type.substring(type.lastIndexOf('/') + 1);
        return classFile.transformClass(model, (builder, element) -> {
            if (element instanceof MethodModel method && method.code().isPresent()) {
                builder.transformMethod(method, MethodTransform.transformingCode(
                        new Note(simple + "." + method.methodName().stringValue())));
            } else {
                builder.with(element);
            }
        });
    }

    /** Puts the note into a method. */
    private record Note(String method) implements CodeTransform {
        @Override
        public void atStart(CodeBuilder builder) {
            builder.loadConstant(method).invokestatic(HOOK, "enter", STRING_TO_VOID);
        }

        @Override
        public void accept(CodeBuilder builder, CodeElement element) {
            builder.with(element);
        }
    }

    private List<String> run() throws Exception {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Process process = new ProcessBuilder(java, "--enable-native-access=ALL-UNNAMED", "-cp",
                copy + File.pathSeparator + System.getProperty("java.class.path"), EnteredMain.class.getName())
                .redirectErrorStream(true).start();
        try {
            List<String> lines = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                    .lines().toList();
            assertEquals(0, process.waitFor(), () -> String.join("\n", lines));
            return lines;
        } finally {
            process.destroyForcibly();
        }
    }
}
