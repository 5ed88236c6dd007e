package org.rdmasockets.internal.doctor;

import com.sun.tools.attach.AgentInitializationException;
import com.sun.tools.attach.AgentLoadException;
import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * The processes of this user that use the library, and their connections. A process has nothing ready for the question:
 * it is known by the threads that each one has whose sockets or endpoints have ever held something. It is asked
 * by the JVM's own way in (attach), which the kernel and the JVM open to the same user alone: the agent's jar is loaded
 * into it, and writes its answer to a file of this process.
 */
final class LibraryProcesses {
    /** The names of the threads, of which the kernel keeps 15 characters: of sockets, and of all but TCP. */
    private static final Set<String> MARKS = Set.of("rdma-cleaner", "rdma-completion");
    private static final long MOST_ANSWER_BYTES = 64 << 20;
    /** A process that is stopped, or hangs, is not waited for any longer. */
    private static final Duration PATIENCE = Duration.ofSeconds(15);

    private final Path proc;
    private final Path jar;

    /** Below {@code /proc}, or what a test has instead; the jar is the agent's. */
    LibraryProcesses(Path proc, Path jar) {
        this.proc = proc;
        this.jar = jar;
    }

    /**
     * The answer of a process.
     *
     * @param number its number
     * @param program its main class or jar
     * @param connections names and values of each
     * @param failure why there is no answer; else null
     */
    record Answer(long number, String program, List<Map<String, String>> connections, String failure) {
        static Answer failed(long number, String failure) {
            return new Answer(number, null, List.of(), failure);
        }
    }

    /** The numbers of such processes of this user, but for this one. */
    List<Long> found() {
        List<Long> found = new ArrayList<>();
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(proc, "[1-9]*")) {
            for (Path process : processes) {
                long number = Long.parseLong(process.getFileName().toString());
                if (number != ProcessHandle.current().pid() && isOwn(process) && hasMark(process)) {
                    found.add(number);
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            return found; // a sandbox that hides processes
        }
        found.sort(null);
        return found;
    }

    private boolean isOwn(Path process) {
        Object owner = owner(process);
        return owner != null && owner.equals(owner(proc.resolve("self")));
    }

    /** The user of a process; null if it has gone. */
    private static Object owner(Path process) {
        try {
            return Files.getAttribute(process, "unix:uid");
        } catch (IOException e) {
            return null;
        }
    }

    private static boolean hasMark(Path process) {
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(process.resolve("task"))) {
            for (Path thread : threads) {
                if (isMarked(thread)) {
                    return true;
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            return false; // it has gone
        }
        return false;
    }

    private static boolean isMarked(Path thread) {
        try {
            return MARKS.contains(Files.readString(thread.resolve("comm")).strip());
        } catch (IOException e) {
            return false; // it has ended
        }
    }

    /** Asks processes, one after the other. */
    List<Answer> ask(List<Long> numbers) {
        return numbers.stream().map(this::ask).toList();
    }

    private Answer ask(long number) {
        String refusal = refusal(number);
        if (refusal != null) {
            return Answer.failed(number, refusal);
        }
        CompletableFuture<Answer> answer = new CompletableFuture<>();
        Thread asking = Thread.ofPlatform().daemon().start(() -> answer.complete(answer(number)));
        try {
            return asking.join(PATIENCE) ? answer.getNow(Answer.failed(number, "it cannot be asked")) // an Error
                    : Answer.failed(number, "it has not answered for " + PATIENCE.toSeconds()
                            + " s: it is stopped (kill -CONT " + number + "), or has no processor");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Answer.failed(number, "the question was interrupted");
        }
    }

    /** Why a process is not even asked: what asks it ends any process that is no JVM. Null if it may be asked. */
    private String refusal(long number) {
        Path process = proc.resolve(Long.toString(number));
        Object owner = owner(process);
        if (owner == null) {
            return "there is no such process";
        }
        if (!isOwn(process)) {
            return "it is user " + owner + "'s, and only that user may ask it: setpriv --reuid=" + owner + " --regid="
                    + owner + " --clear-groups java -jar ... connections " + number;
        }
        if (!hasMark(process)) {
            return "it has used no socket or endpoint of this library";
        }
        if (jar == null || ModuleLayer.boot().findModule("jdk.attach").isEmpty()) {
            return "a JDK with the module jdk.attach asks processes, by the agent's jar";
        }
        return isInSameContainer(process) ? null : "it is in another container, or has a /tmp of its own: ask it from "
                + "there, as by docker exec or nsenter -a -t " + number;
    }

    private boolean isInSameContainer(Path process) {
        try {
            return Files.readSymbolicLink(process.resolve("ns/mnt"))
                    .equals(Files.readSymbolicLink(proc.resolve("self/ns/mnt")));
        } catch (IOException e) {
            return false;
        }
    }

    private Answer answer(long number) {
        Path folder = null;
        try {
            folder = Files.createTempDirectory("rdma-sockets"); // no other user may enter it
            Path file = folder.resolve("connections");
            String program = load(number, file);
            if (Files.size(file) > MOST_ANSWER_BYTES) {
                return Answer.failed(number, "its answer has more than " + (MOST_ANSWER_BYTES >> 20) + " MiB");
            }
            return parse(number, program, Files.readAllLines(file));
        } catch (IOException | AttachNotSupportedException | AgentLoadException | AgentInitializationException e) {
            return Answer.failed(number, e.getMessage() + "; it can be asked without -XX:+DisableAttachMechanism "
                    + "and -XX:-EnableDynamicAgentLoading, and with the module java.instrument");
        } finally {
            delete(folder);
        }
    }

    /** Has the process write its answer; gives the name of its program. */
    private String load(long number, Path file) throws IOException, AttachNotSupportedException, AgentLoadException,
            AgentInitializationException {
        VirtualMachine asked = VirtualMachine.attach(Long.toString(number));
        try {
            asked.loadAgent(jar.toString(), file.toString());
            return asked.getAgentProperties().getProperty("sun.java.command", "").split(" ")[0];
        } finally {
            asked.detach();
        }
    }

    private static void delete(Path folder) {
        try {
            if (folder != null) {
                Files.deleteIfExists(folder.resolve("connections"));
                Files.deleteIfExists(folder);
            }
        } catch (IOException e) {
            return; // the next boot clears /tmp
        }
    }

    private static Answer parse(long number, String program, List<String> lines) {
        List<Map<String, String>> connections = new ArrayList<>();
        for (String line : lines) {
            String[] words = line.split("\t", -1);
            if (words[0].equals("failure") && words.length > 1) {
                return Answer.failed(number, words[1]);
            }
            Map<String, String> connection = new LinkedHashMap<>();
            for (int i = 0; i + 1 < words.length; i += 2) {
                connection.put(words[i], words[i + 1]);
            }
            if (!connection.isEmpty()) {
                connections.add(connection);
            }
        }
        return new Answer(number, program, connections, null);
    }
}
