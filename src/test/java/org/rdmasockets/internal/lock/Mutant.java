package org.rdmasockets.internal.lock;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.MethodModel;
import java.util.concurrent.atomic.AtomicInteger;

/** A copy of the library in which one method without a result does nothing, as if what it does were forgotten. */
public final class Mutant extends ClassLoader {
    private static final String OWN = "org.rdmasockets.";

    private final String className;
    private final String method;
    private final AtomicInteger changed = new AtomicInteger();

    /**
     * Makes a copy.
     *
     * @param className the class
     * @param method its method, which returns {@code void}
     */
    public Mutant(String className, String method) {
        super(Mutant.class.getClassLoader());
        this.className = className;
        this.method = method;
    }

    /** How many methods were emptied: 1 once the class was loaded, or the method has another name now. */
    public int changed() {
        return changed.get();
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded == null) {
                loaded = name.startsWith(OWN) ? copy(name) : super.loadClass(name, false);
            }
            return loaded;
        }
    }

    private Class<?> copy(String name) throws ClassNotFoundException {
        try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
            if (in == null) {
                throw new ClassNotFoundException(name);
            }
            byte[] bytes = in.readAllBytes();
            bytes = name.equals(className) ? emptied(bytes) : bytes;
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    private byte[] emptied(byte[] bytes) {
        ClassFile file = ClassFile.of();
        return file.transformClass(file.parse(bytes), ClassTransform.transformingMethodBodies(this::isMeant,
                new CodeTransform() {
                    @Override
                    public void atStart(CodeBuilder builder) {
                        changed.incrementAndGet();
                        builder.return_();
                    }

                    @Override
                    public void accept(CodeBuilder builder, CodeElement e) {
                        // Nothing of it is left.
                    }
                }));
    }

    private boolean isMeant(MethodModel one) {
        return one.methodName().equalsString(method);
    }
}
