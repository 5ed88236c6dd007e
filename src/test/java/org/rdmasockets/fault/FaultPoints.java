package org.rdmasockets.fault;

import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.Instruction;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.LineNumber;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.classfile.instruction.NewMultiArrayInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.NewPrimitiveArrayInstruction;
import java.lang.classfile.instruction.NewReferenceArrayInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Copies the classes of the library to another directory and puts a call of {@link InjectedFault#at} at each point
 * where the JVM may throw an {@code Error}.
 */
final class FaultPoints {
    /** The event at a point. */
    enum Kind {
        /** A method begins: the stack may be at its end. */
        ENTRY,
        /** An object or a call site is made: the heap may be exhausted. */
        ALLOCATION,
        /** A method of the JDK is called, which may allocate and go deeper. */
        CALL,
        /** Another class of the library is used: it may not be there, or no descriptor is left to read it. */
        CLASS,
        /** A monitor or a lock is taken. */
        LOCK,
        /** C is called. */
        NATIVE
    }

    /** Where an error may come from, and which class of the library is used there, or null. */
    record Point(Kind kind, String place, String used) {
        Point(Kind kind, String place) {
            this(kind, place, null);
        }

        @Override
        public String toString() {
            return kind + " in " + place;
        }
    }

    private static final ClassDesc HOOK = ClassDesc.of(InjectedFault.class.getName());
    private static final MethodTypeDesc INT_TO_VOID = MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_int);
    private static final String LIBRARY = "org/rdmasockets/";
    /** Classes that neither allocate nor load anything; where the stack may end, the caller's beginning covers it. */
    private static final Set<String> HARMLESS = Set.of("java/lang/invoke/VarHandle", "java/lang/Math",
            "java/lang/Object", "java/util/concurrent/locks/LockSupport", "java/lang/Integer", "java/lang/Long",
            "java/util/Objects",
            "java/lang/Enum", "java/lang/foreign/MemorySegment", "java/lang/ref/Reference", "java/lang/Byte",
            "java/lang/Boolean", "java/util/concurrent/TimeUnit", "java/util/OptionalInt");
    private static final Set<String> HARMLESS_CALLS = Set.of("currentThread", "isVirtual", "onSpinWait", "nanoTime",
            "unlock", "getHoldCount", "ordinal", "isInterrupted", "isEmpty", "size", "getClass", "interrupted",
            "isHeldByCurrentThread");
    /**
     * The same of single methods, after a look at their source in the JDK: they read fields, or take an entry out of a
     * table or a ring, with keys whose {@code hashCode} and {@code equals} are harmless, too. Methods that iterate are
     * not among them (an iterator is an object), nor are those that make a view at the first call ({@code Map.values}).
     */
    private static final Set<String> HARMLESS_METHODS = Set.of("Map.get", "Map.remove", "HashMap.get", "HashMap.remove",
            "ConcurrentHashMap.get", "Set.remove", "Set.contains", "SequencedSet.remove", "List.get", "List.clear",
            "ArrayList.get", "ArrayDeque.poll", "ArrayDeque.peek", "ArrayDeque.pollFirst", "ArrayDeque.peekFirst",
            "ArrayDeque.clear", "BitSet.clear", "BitSet.get", "BitSet.nextClearBit", "BitSet.nextSetBit",
            "InetSocketAddress.getPort", "InetSocketAddress.getAddress", "InetAddress.isAnyLocalAddress",
            "InetAddress.isLoopbackAddress", "String.length", "System.arraycopy", "System.identityHashCode",
            "Throwable.getCause", "Optional.isPresent", "Optional.orElse", "Optional.orElseThrow",
            "ByteBuffer.get", "ByteBuffer.getInt", "ByteBuffer.getLong", "ByteBuffer.getShort", "ByteBuffer.put",
            "ByteBuffer.putInt", "ByteBuffer.putLong", "ByteBuffer.putShort", "Record.<init>",
            "PhantomReference.<init>", "ByteBuffer.position", "ByteBuffer.limit", "ByteBuffer.remaining",
            "ByteBuffer.hasRemaining",
            "Thread.isAlive", "Semaphore.release", "ServerSocket.isClosed", "Socket.isClosed", "Logger.isDebugEnabled",
            "Logger.isTraceEnabled", "Logger.isInfoEnabled",
            // The application's own, which hears of the end of a call once, as over Netty.
            "ClientCall$Listener.onClose",
            // These call code of this library, with points of its own; nothing of the JDK is in between.
            "AutoCloseable.close", "Runnable.run", "Consumer.accept", "BiConsumer.accept", "Predicate.test",
            "Supplier.get", "Callable.call", "Function.apply", "Executor.execute");

    private final List<Point> points = new ArrayList<>();

    private FaultPoints() {
    }

    /**
     * Copies.
     *
     * @param from directory of classes
     * @param to an existing directory
     * @return the points; the call passes the index
     */
    static List<Point> copy(Path from, Path to) throws IOException {
        FaultPoints made = new FaultPoints();
        List<Path> files;
        try (Stream<Path> found = Files.walk(from)) {
            files = found.filter(Files::isRegularFile).sorted().toList();
        }
        for (Path file : files) {
            String name = from.relativize(file).toString();
            byte[] content = Files.readAllBytes(file);
            boolean instrumented = name.startsWith(LIBRARY) && name.endsWith(".class") && !name.contains("/generated/")
                    && !name.contains("/agent/") && !name.endsWith("-info.class");
            Path copy = to.resolve(name);
            Files.createDirectories(copy.getParent());
            Files.write(copy, instrumented ? made.instrument(content) : content);
        }
        return made.points;
    }

    private byte[] instrument(byte[] content) {
        ClassFile classFile = ClassFile.of();
        ClassModel model = classFile.parse(content);
        String owner = model.thisClass().asInternalName();
        return classFile.transformClass(model, (builder, element) -> {
            if (element instanceof MethodModel method && method.code().isPresent()
                    && !method.methodName().equalsString("<clinit>")) {
                builder.transformMethod(method, MethodTransform.transformingCode(
                        new Insertion(owner, method)));
            } else {
                builder.with(element);
            }
        });
    }

    /** The points of an instruction: the errors that it may throw. */
    private static List<Point> errors(String owner, CodeElement element) {
        List<Point> found = new ArrayList<>();
        switch (element) {
            case NewObjectInstruction made -> {
                use(owner, made.className().asInternalName(), found);
                found.add(new Point(Kind.ALLOCATION, made.className().asInternalName()));
            }
            case NewPrimitiveArrayInstruction made -> found.add(new Point(Kind.ALLOCATION, made.typeKind() + "[]"));
            case NewReferenceArrayInstruction made ->
                found.add(new Point(Kind.ALLOCATION, made.componentType().asInternalName() + "[]"));
            case NewMultiArrayInstruction made ->
                found.add(new Point(Kind.ALLOCATION, made.arrayType().asInternalName()));
            case InvokeDynamicInstruction made -> found.add(new Point(Kind.ALLOCATION, "a call site"));
            case MonitorInstruction monitor when monitor.opcode() == Opcode.MONITORENTER ->
                found.add(new Point(Kind.LOCK, "a monitor"));
            case FieldInstruction field when field.opcode() == Opcode.GETSTATIC
                    || field.opcode() == Opcode.PUTSTATIC -> use(owner, field.owner().asInternalName(), found);
            case InvokeInstruction call -> call(owner, call, found);
            default -> {
            }
        }
        return found;
    }

    private static void call(String owner, InvokeInstruction call, List<Point> found) {
        String called = call.owner().asInternalName();
        String name = call.name().stringValue();
        String text = simple(called) + "." + name;
        if (called.startsWith(LIBRARY)) {
            if (call.opcode() == Opcode.INVOKESTATIC) {
                use(owner, called, found);
            }
        } else if (called.equals("java/lang/invoke/MethodHandle") && name.startsWith("invoke")) {
            found.add(new Point(Kind.NATIVE, text));
        } else if (called.startsWith("java/util/concurrent/locks/") && name.matches("lock.*|tryLock.*|await.*")) {
            found.add(new Point(Kind.LOCK, text));
        } else if (!HARMLESS.contains(called) && !HARMLESS_CALLS.contains(name)
                && !HARMLESS_METHODS.contains(text) && !text.equals("Arena.close")
                && !called.startsWith("[") && !called.startsWith("java/util/concurrent/atomic/")
                && !(text.equals("Thread.yield") && owner.endsWith("LibraryThreads"))) { // a pause: no burst ends there
            found.add(new Point(Kind.CALL, text));
        }
    }

    private static void use(String owner, String used, List<Point> found) {
        if (used.startsWith(LIBRARY) && !used.equals(owner)) {
            found.add(new Point(Kind.CLASS, simple(used), used.replace('/', '.')));
        }
    }

    private static String simple(String name) {
        return name.substring(name.lastIndexOf('/') + 1);
    }

    /** Puts the calls into one method. */
    private final class Insertion implements CodeTransform {
        private final String owner;
        private final String method;
        /** A method that can throw nothing else ends in no {@code Error} either but for lack of stack. */
        private boolean atEntry;
        private int line;

        Insertion(String owner, MethodModel method) {
            this.owner = owner;
            this.method = method.methodName().stringValue();
            atEntry = method.code().orElseThrow().elementStream().anyMatch(e -> !errors(owner, e).isEmpty());
        }

        @Override
        public void accept(CodeBuilder builder, CodeElement element) {
            if (element instanceof LineNumber number) {
                line = number.line();
            }
            if (atEntry && element instanceof Instruction) {
                atEntry = false;
                insert(builder, new Point(Kind.ENTRY, method));
            }
            errors(owner, element).forEach(point -> insert(builder, point));
            builder.with(element);
        }

        private void insert(CodeBuilder builder, Point point) {
            boolean wantsMemory = point.kind() == Kind.ALLOCATION || point.kind() == Kind.CALL
                    || point.kind() == Kind.NATIVE;
            builder.loadConstant(points.size()).invokestatic(HOOK, wantsMemory ? "at" : "by", INT_TO_VOID);
            points.add(new Point(point.kind(),
                    owner.substring(LIBRARY.length()) + "." + method + ":" + line + ": " + point.place(),
                    point.used()));
        }
    }
}
