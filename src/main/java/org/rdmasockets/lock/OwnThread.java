package org.rdmasockets.lock;

/**
 * Makes the threads of this library that outlive the call that starts them. Such a thread belongs to nobody: it keeps
 * neither the context class loader, nor the thread group, nor the inheritable thread-locals of whoever happened to open
 * the first socket, so that an application that is undeployed goes in full.
 */
public final class OwnThread {
    private OwnThread() {}

    /** A daemon platform thread that has not started. */
    public static Thread unstarted(String name, Runnable task) {
        ThreadGroup top = Thread.currentThread().getThreadGroup();
        while (top != null && top.getParent() != null) {
            top = top.getParent();
        }
        Thread thread = new Thread(top, task, name, 0, false);
        thread.setDaemon(true);
        thread.setPriority(Thread.NORM_PRIORITY);
        thread.setContextClassLoader(ClassLoader.getSystemClassLoader());
        return thread;
    }
}
