package org.rdmasockets.parity;

import java.io.IOException;
import java.lang.reflect.Member;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.platform.commons.annotation.Testable;
import org.junit.platform.commons.support.AnnotationSupport;

/** The classes of a folder of class files, found by the ends of their names. */
final class ClassIndex {
    private static final String HOME = "org/rdmasockets";

    private final List<Class<?>> classes = new ArrayList<>();

    /**
     * Loads all classes of the project in a folder, and initializes none.
     *
     * @param root such as {@code target/classes}
     */
    ClassIndex(Path root) throws IOException, ClassNotFoundException {
        List<String> names;
        try (Stream<Path> files = Files.walk(root.resolve(HOME))) {
            names = files.map(file -> root.relativize(file).toString().replace('/', '.'))
                    .filter(name -> name.endsWith(".class") && !name.contains("-info"))
                    .filter(name -> !name.contains("jmh_generated"))
                    .map(name -> name.substring(0, name.length() - ".class".length())).sorted().toList();
        }
        for (String name : names) {
            classes.add(Class.forName(name, false, ClassIndex.class.getClassLoader()));
        }
    }

    /**
     * Finds a class.
     *
     * @param name the end of its name, as much of it as makes it the only one, such as {@code SendRequest.Opcode}
     * @return the class; empty if there is none, or are several
     */
    Optional<Class<?>> find(String name) {
        List<Class<?>> found = classes.stream()
                .filter(type -> ("." + type.getName().replace('$', '.')).endsWith("." + name)).toList();
        return found.size() == 1 ? Optional.of(found.getFirst()) : Optional.empty();
    }

    /**
     * Tells whether one class or several have a name.
     *
     * @param name the end of a class's name
     * @return true if there is one
     */
    boolean knows(String name) {
        return classes.stream().anyMatch(type -> ("." + type.getName().replace('$', '.')).endsWith("." + name));
    }

    /**
     * Tells whether a class or a member is there.
     *
     * @param name such as {@code RdmaEndpoint} or {@code RdmaEndpoint.builder}, inherited members included
     * @return true if there is
     */
    boolean has(String name) {
        if (find(name).isPresent()) {
            return true;
        }
        int dot = name.lastIndexOf('.');
        return dot > 0 && find(name.substring(0, dot)).map(type -> hasMember(type, name.substring(dot + 1)))
                .orElse(false);
    }

    private static boolean hasMember(Class<?> type, String member) {
        Stream<Member> own = Stream.concat(Stream.of(type.getDeclaredMethods()), Stream.of(type.getDeclaredFields()));
        Stream<Member> inherited = Stream.concat(Stream.of(type.getMethods()), Stream.of(type.getFields()));
        return Stream.concat(own, inherited).anyMatch(one -> one.getName().equals(member));
    }

    /**
     * Tells what is wrong with the name of a test.
     *
     * @param name such as {@code EndpointMessageContract#fiveHundredAndTwelveInFlight}
     * @return empty if there is such a test, and something runs it
     */
    Optional<String> whatIsWrongWithTest(String name) {
        String[] parts = name.split("#");
        Optional<Class<?>> type = parts.length == 2 ? find(parts[0]) : Optional.empty();
        if (type.isEmpty()) {
            return Optional.of("no test class, or several, as in " + name);
        } else if (Stream.of(type.get().getDeclaredMethods()).noneMatch(
                method -> method.getName().equals(parts[1]) && AnnotationSupport.isAnnotated(method, Testable.class))) {
            return Optional.of("no test " + name);
        }
        return runs(type.get()) ? Optional.empty() : Optional.of("nothing runs " + name);
    }

    /** Whether the engine finds the class: it is a test, or nested in one, or something that runs extends it. */
    private boolean runs(Class<?> type) {
        if (classes.stream().anyMatch(other -> other.getSuperclass() == type && runs(other))) {
            return true;
        } else if (Modifier.isAbstract(type.getModifiers())) {
            return false;
        } else if (type.isMemberClass()) {
            return type.isAnnotationPresent(Nested.class) && runs(type.getDeclaringClass());
        }
        return type.getSimpleName().endsWith("Test");
    }
}
