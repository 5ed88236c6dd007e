package org.rdmasockets.internal.sharedmemory;

import com.sun.tools.attach.VirtualMachine;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;

/**
 * Rewrites the classes of the device in this JVM: their methods ask {@link FaultDoor} from then on. Each method of
 * {@link Asked} is called first by the method of its first argument's class that has its name and its other arguments.
 * True lets that do nothing and return false, -1, or, of a post, {@code ENOMEM}. They are called under locks of the
 * package: they neither wait nor call back. They make no object unless the device misbehaves, since the tests that
 * follow in this JVM count garbage.
 */
public final class FaultHooks {
    private static boolean installed;

    private FaultHooks() {
    }

    /** The questions. */
    static final class Asked {
        private Asked() {
        }

        /** A completion is about to be reported. */
        static boolean complete(SharedMemoryCompletionQueue queue, QueueRoom room, long id, int status,
                CompletionOpcode opcode) {
            FaultDoor door = FaultDoor.of(queue.device());
            return door != null && door.keep(new FaultDoor.Kept(queue, room, id, opcode, null, status));
        }

        static boolean received(SharedMemoryCompletionQueue queue, QueueRoom room, long id, CompletionOpcode opcode,
                int length, boolean hasImmediate, int immediate) {
            FaultDoor door = FaultDoor.of(queue.device());
            return door != null && door.keep(new FaultDoor.Kept(queue, room, id, opcode,
                    new FaultDoor.Received(length, hasImmediate, immediate), Status.SUCCESS));
        }

        /** A message comes. */
        static boolean hasReceive(ReceiveQueue queue) {
            FaultDoor door = FaultDoor.of(queue.owner.domain.device());
            return door != null && door.hidesReceives(queue.owner.number);
        }

        /** A write that is left to the thread that polls goes past the device. */
        static boolean leave(WriteQueue arrivals, ReceiveQueue target, int length, int immediate) {
            return FaultDoor.of(target.owner.domain.device()) != null;
        }

        /** A request is posted. */
        static boolean postSend(SharedMemoryQueuePair queuePair, SendRequest request) {
            FaultDoor door = FaultDoor.of(queuePair.domain.device());
            return door != null && door.isFull(queuePair.number);
        }

        static boolean postReceive(SharedMemoryQueuePair queuePair, ReceiveRequest request) {
            return postSend(queuePair, null);
        }

        static boolean postReceives(SharedMemoryQueuePair queuePair, ReceiveRequest request, long firstId, int count) {
            return postSend(queuePair, null);
        }
    }

    /** Rewrites the classes, unless they are. */
    static synchronized void install() {
        if (installed) {
            return;
        }
        try {
            Path jar = Files.createTempFile("hooks-", ".jar");
            Manifest manifest = new Manifest();
            manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
            manifest.getMainAttributes().putValue("Agent-Class", FaultHooks.class.getName());
            manifest.getMainAttributes().putValue("Can-Redefine-Classes", "true");
            new JarOutputStream(Files.newOutputStream(jar), manifest).close();
            VirtualMachine self = VirtualMachine.attach(Long.toString(ProcessHandle.current().pid()));
            self.loadAgent(jar.toString());
            self.detach();
            Files.delete(jar);
        } catch (Exception e) {
            throw new AssertionError("this JVM needs -Djdk.attach.allowAttachSelf=true", e);
        }
        installed = true;
    }

    /** Called by the JVM. */
    public static void agentmain(String none, Instrumentation instrumentation) throws Exception {
        Map<Class<?>, List<Method>> questions = Arrays.stream(Asked.class.getDeclaredMethods())
                .collect(Collectors.groupingBy(question -> question.getParameterTypes()[0]));
        for (Map.Entry<Class<?>, List<Method>> of : questions.entrySet()) {
            Class<?> changed = of.getKey();
            instrumentation.redefineClasses(new ClassDefinition(changed, rewritten(changed, of.getValue())));
        }
    }

    private static byte[] rewritten(Class<?> changed, List<Method> questions) throws Exception {
        ClassTransform all = ClassTransform.ACCEPT_ALL;
        for (Method question : questions) {
            Class<?>[] types = question.getParameterTypes();
            Method asking = changed.getDeclaredMethod(question.getName(), Arrays.copyOfRange(types, 1, types.length));
            all = all.andThen(ClassTransform.transformingMethodBodies(
                    m -> m.methodName().equalsString(question.getName())
                            && m.methodTypeSymbol().equals(type(asking)), new Question(asking, question)));
        }
        try (InputStream in = changed.getResourceAsStream(changed.getSimpleName() + ".class")) {
            ClassFile file = ClassFile.of();
            return file.transformClass(file.parse(in.readAllBytes()), all);
        }
    }

    private static MethodTypeDesc type(Method method) {
        return MethodType.methodType(method.getReturnType(), method.getParameterTypes()).describeConstable()
                .orElseThrow();
    }

    /** The beginning of a method that asks. */
    private record Question(Method asking, Method question) implements CodeTransform {
        @Override
        public void atStart(CodeBuilder builder) {
            int slot = 0; // of the method's own object, which is the first argument
            for (Class<?> parameter : question.getParameterTypes()) {
                TypeKind kind = TypeKind.from(parameter);
                builder.loadLocal(kind, slot);
                slot += kind.slotSize();
            }
            TypeKind result = TypeKind.from(asking.getReturnType());
            ClassDesc asked = Asked.class.describeConstable().orElseThrow();
            builder.invokestatic(asked, question.getName(), type(question)).ifThen(yes -> {
                switch (result) {
                    case BOOLEAN -> yes.iconst_0();
                    case INT -> yes.loadConstant(Errno.ENOMEM.number());
                    case LONG -> yes.loadConstant(-1L);
                    default -> throw new AssertionError(asking);
                }
                yes.return_(result);
            });
        }

        @Override
        public void accept(CodeBuilder builder, CodeElement element) {
            builder.with(element);
        }
    }
}
