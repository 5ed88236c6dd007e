package org.rdmasockets.internal.waiting;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.FieldModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The classes of this package, in which each access to shared memory calls the {@link Explorer}; one instruction can be
 * left out, or come too late.
 */
final class ExploredClasses extends ClassLoader {
    /**
     * One instruction that does not do its duty.
     *
     * @param method where it is, as {@code CompletionInbox.close}
     * @param target the method that it calls, or the field that it writes
     * @param nth its number among several, from 1
     * @param late whether it comes too late, instead of never
     */
    record Fault(String method, String target, int nth, boolean late) {}

    private static final String PACKAGE = Explorer.class.getPackageName() + ".";
    private static final ClassDesc EXPLORER = ClassDesc.of(Explorer.class.getName());
    /** The others have no flag that a wake-up passes, or are the tests' own. */
    private static final Set<String> REWRITTEN = Set.of("CompletionInbox", "CompletionShard", "CompletionPoller",
            "DeviceShards", "WaitResult");
    /** Calls that the explorer does instead: it has a method of that name. */
    private static final Set<String> REPLACED = Set.of("SmallMutex.lock", "SmallMutex.unlock", "SmallMutex.tryLock",
            "SmallMutex.isHeldByCurrentThread", "PaddedLock.lock", "PaddedLock.unlock", "PaddedLock.tryLock",
            "PaddedLock.isHeldByCurrentThread", "MpscGrowableVarHandleUnpaddedArrayQueue.offer",
            "MpscGrowableVarHandleUnpaddedArrayQueue.relaxedPoll", "MpscGrowableVarHandleUnpaddedArrayQueue.isEmpty",
            "MpscGrowableVarHandleUnpaddedArrayQueue.relaxedPeek",
            "LockSupport.park", "LockSupport.parkNanos", "LockSupport.unpark", "System.nanoTime", "EventPoller.await",
            "LibraryThreads.unstarted", "Thread.isVirtual");

    private final Fault fault;
    private final Set<String> volatileFields = new HashSet<>();
    private int seen;

    /** The classes as they are but for one instruction; as they are with null. */
    ExploredClasses(Fault fault) throws IOException {
        super(ExploredClasses.class.getClassLoader());
        this.fault = fault;
        for (String name : List.of("CompletionInbox", "CompletionShard", "CompletionPoller", "Waiter")) {
            for (FieldModel field : ClassFile.of().parse(bytes(PACKAGE + name)).fields()) {
                if (field.flags().has(AccessFlag.VOLATILE)) {
                    volatileFields.add(name + "." + field.fieldName().stringValue());
                }
            }
        }
    }

    /** Whether the instruction was found. */
    boolean isChanged() {
        return seen >= fault.nth();
    }

    private byte[] bytes(String name) throws IOException {
        try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
            return in.readAllBytes();
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded == null && name.startsWith(PACKAGE) && !name.startsWith(Explorer.class.getName())) {
                try {
                    byte[] bytes = bytes(name);
                    bytes = REWRITTEN.contains(name.substring(PACKAGE.length())) ? rewritten(bytes) : bytes;
                    loaded = defineClass(name, bytes, 0, bytes.length);
                } catch (IOException e) {
                    throw new ClassNotFoundException(name, e);
                }
            }
            return loaded != null ? loaded : super.loadClass(name, resolve);
        }
    }

    private byte[] rewritten(byte[] bytes) {
        ClassModel model = ClassFile.of().parse(bytes);
        return ClassFile.of().transformClass(model, (builder, member) -> {
            if (member instanceof MethodModel method) {
                String name = simple(model.thisClass().asSymbol()) + "." + method.methodName().stringValue();
                builder.transformMethod(method, MethodTransform.transformingCode((code, e) -> rewrite(name, code, e)));
            } else {
                builder.with(member);
            }
        });
    }

    private static String simple(ClassDesc type) {
        return type.displayName();
    }

    private void rewrite(String method, CodeBuilder code, CodeElement e) {
        switch (e) {
            case FieldInstruction f when volatileFields.contains(simple(f.owner().asSymbol()) + "."
                    + f.name().stringValue()) -> access(method, code, f);
            case InvokeInstruction i -> call(method, code, i);
            default -> code.with(e);
        }
    }

    private void access(String method, CodeBuilder code, FieldInstruction f) {
        ClassDesc type = f.typeSymbol();
        boolean isFault = f.opcode() == Opcode.PUTFIELD && isFault(method, f.name().stringValue());
        if (f.opcode() == Opcode.GETFIELD) {
            code.loadConstant(f.name().stringValue()).invokestatic(EXPLORER, "get", MethodTypeDesc.of(
                    ConstantDescs.CD_Object, ConstantDescs.CD_Object, ConstantDescs.CD_String));
            if (type.isPrimitive()) {
                code.checkcast(boxed(type)).invokevirtual(boxed(type), type.displayName() + "Value",
                        MethodTypeDesc.of(type));
            } else {
                code.checkcast(type);
            }
            return;
        }
        if (type.isPrimitive()) {
            code.invokestatic(boxed(type), "valueOf", MethodTypeDesc.of(boxed(type), type));
        }
        code.loadConstant(f.name().stringValue()).invokestatic(EXPLORER, isFault ? "putLate" : "put",
                MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_Object, ConstantDescs.CD_Object,
                        ConstantDescs.CD_String));
    }

    private static ClassDesc boxed(ClassDesc type) {
        return switch (TypeKind.from(type)) {
            case BOOLEAN -> ConstantDescs.CD_Boolean;
            case INT -> ConstantDescs.CD_Integer;
            default -> ConstantDescs.CD_Long;
        };
    }

    private void call(String method, CodeBuilder code, InvokeInstruction i) {
        String owner = simple(i.owner().asSymbol());
        String name = i.name().stringValue();
        MethodTypeDesc type = i.typeSymbol();
        boolean isStatic = i.opcode() == Opcode.INVOKESTATIC;
        boolean isFault = isFault(method, name);
        if (isFault && fault.late()) {
            replace(code, i, name + "Late");
        } else if (isFault) {
            for (int k = type.parameterCount() - 1; k >= 0; k--) {
                pop(code, type.parameterType(k));
            }
            if (!isStatic) {
                code.pop();
            }
            zero(code, type.returnType());
        } else if (REPLACED.contains(owner + "." + name) && !isPool(method, owner)) {
            replace(code, i, name);
        } else {
            announce(code, owner, name);
            code.with(i);
        }
    }

    /** A shard's queues keep slots and lists to use them again: no wake-up passes them. */
    private static boolean isPool(String method, String owner) {
        return method.startsWith("CompletionShard.") && owner.startsWith("Mpsc");
    }

    private boolean isFault(String method, String target) {
        boolean may = fault != null && fault.method().equals(method) && fault.target().equals(target);
        seen += may ? 1 : 0;
        return may && seen == fault.nth();
    }

    /** Calls the explorer with the same arguments, all objects as {@code Object}. */
    private static void replace(CodeBuilder code, InvokeInstruction i, String name) {
        List<ClassDesc> parameters = new ArrayList<>();
        if (i.opcode() != Opcode.INVOKESTATIC) {
            parameters.add(ConstantDescs.CD_Object);
        }
        i.typeSymbol().parameterList().forEach(p -> parameters.add(p.isPrimitive() ? p : ConstantDescs.CD_Object));
        code.invokestatic(EXPLORER, name, MethodTypeDesc.of(i.typeSymbol().returnType(), parameters));
    }

    /** Tells the explorer what comes next. */
    private static void announce(CodeBuilder code, String owner, String name) {
        MethodTypeDesc none = MethodTypeDesc.of(ConstantDescs.CD_void);
        MethodTypeDesc named = MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_String);
        if (owner.equals("VarHandle") && name.equals("fullFence")) {
            code.invokestatic(EXPLORER, "fence", none);
        } else if (owner.equals("VarHandle") || owner.equals("AtomicInteger") && !name.startsWith("<")) {
            code.loadConstant(owner).invokestatic(EXPLORER, name.equals("get") ? "load" : "update", named);
        } else if (owner.equals("CompletionQueue") && (name.equals("poll") || name.equals("requestNotification"))) {
            code.invokestatic(EXPLORER, "device", none);
        } else if (owner.equals("CompletionChannel") && name.equals("drainEvents")
                || owner.equals("EventPoller") && name.equals("wakeup")) {
            code.loadConstant("events").invokestatic(EXPLORER, "update", named);
        }
    }

    private static void pop(CodeBuilder code, ClassDesc type) {
        if (TypeKind.from(type).slotSize() == 2) {
            code.pop2();
        } else {
            code.pop();
        }
    }

    private static void zero(CodeBuilder code, ClassDesc type) {
        switch (TypeKind.from(type)) {
            case VOID -> { }
            case REFERENCE -> code.aconst_null();
            case LONG -> code.lconst_0();
            default -> code.iconst_0();
        }
    }
}
