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
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;

/**
 * Rewrites the classes of the device in this JVM: their methods ask {@link FaultDoor} from then on. The records in here
 * hold an object each; a method of theirs is called first by the method of that object that has its name and arguments.
 * True lets that do nothing and return false, -1, or, of a post, {@code ENOMEM}. They are called under locks of the
 * package: they neither wait nor call back.
 */
public final class FaultHooks {
    private static boolean installed;

    private FaultHooks() {
    }

    /** A completion is about to be reported. */
    record OfCompletions(SharedMemoryCompletionQueue queue) {
        boolean complete(QueueRoom room, long id, int status, CompletionOpcode opcode) {
            return FaultDoor.take(new FaultDoor.Kept(queue, room, id, opcode, null, status));
        }

        boolean received(QueueRoom room, long id, CompletionOpcode opcode, int length, boolean hasImmediate,
                int immediate) {
            return FaultDoor.take(new FaultDoor.Kept(queue, room, id, opcode,
                    new FaultDoor.Received(length, hasImmediate, immediate), Status.SUCCESS));
        }
    }

    /** A message comes. */
    record OfReceives(ReceiveQueue queue) {
        boolean hasReceive() {
            FaultDoor door = FaultDoor.of(queue.owner.domain.device());
            return door != null && door.hidesReceives(queue.owner.number);
        }
    }

    /** What is left to who polls goes past the device. */
    record OfArrivals(WriteQueue arrivals) {
        boolean leave(ReceiveQueue target, int length, int immediate) {
            return FaultDoor.of(target.owner.domain.device()) != null;
        }
    }

    /** A request is posted. */
    record OfQueuePair(SharedMemoryQueuePair queuePair) {
        boolean postSend(SendRequest request) {
            FaultDoor door = FaultDoor.of(queuePair.domain.device());
            return door != null && door.isFull(queuePair.number);
        }

        boolean postReceive(ReceiveRequest request) {
            return postSend(null);
        }

        boolean postReceives(ReceiveRequest request, long firstId, int count) {
            return postSend(null);
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
        for (Class<?> hooks : FaultHooks.class.getDeclaredClasses()) {
            if (!Modifier.isPrivate(hooks.getModifiers())) {
                Class<?> changed = hooks.getRecordComponents()[0].getType();
                instrumentation.redefineClasses(new ClassDefinition(changed, rewritten(changed, hooks)));
            }
        }
    }

    private static byte[] rewritten(Class<?> changed, Class<?> hooks) throws Exception {
        ClassTransform all = ClassTransform.ACCEPT_ALL;
        for (Method hook : hooks.getDeclaredMethods()) {
            if (hook.getModifiers() == 0) {
                Method asking = changed.getDeclaredMethod(hook.getName(), hook.getParameterTypes());
                all = all.andThen(ClassTransform.transformingMethodBodies(
                        m -> m.methodName().equalsString(hook.getName())
                                && m.methodTypeSymbol().equals(type(asking)), new Question(changed, asking, hook)));
            }
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
    private record Question(Class<?> changed, Method asking, Method hook) implements CodeTransform {
        @Override
        public void atStart(CodeBuilder builder) {
            ClassDesc hooks = hook.getDeclaringClass().describeConstable().orElseThrow();
            builder.new_(hooks).dup().aload(0).invokespecial(hooks, ConstantDescs.INIT_NAME,
                    MethodTypeDesc.of(ConstantDescs.CD_void, changed.describeConstable().orElseThrow()));
            int slot = 1;
            for (Class<?> parameter : hook.getParameterTypes()) {
                TypeKind kind = TypeKind.from(parameter);
                builder.loadLocal(kind, slot);
                slot += kind.slotSize();
            }
            TypeKind result = TypeKind.from(asking.getReturnType());
            builder.invokevirtual(hooks, hook.getName(), type(hook)).ifThen(yes -> {
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
