/**
 * From the completion queue to the parked thread: how blocking code waits for an RDMA device.
 *
 * <p>A {@link org.rdmasockets.internal.waiting.CompletionShard} is one completion queue, which serves many connections;
 * a {@link org.rdmasockets.internal.waiting.CompletionInbox} is a JCTools queue of what has arrived for one of them. A
 * work request carries the inbox's number in its identifier. A thread that polls the completion queue holds its
 * {@code cqLock} for one batch, offers each completion to its inbox, and then wakes that connection's reader or writer.
 *
 * <p>A thread waits in three ways, in this order: (1) it finds what it waits for in its inbox; (2) it <em>leads</em>:
 * it polls the completion queue for itself, and for all others, within a budget of some microseconds
 * ({@code SpinPolicy} says when); (3) it <em>parks</em>. Only one thread sleeps in a system call: the
 * {@link org.rdmasockets.internal.waiting.CompletionPoller}, until an armed queue makes its one event. A device that
 * executes a request in the thread that posts it may hand that event to this thread instead.
 *
 * <p><b>Why no wake-up is lost.</b> A completion passes three flags on its way to a parked thread.
 * <pre>
 * a waiter parks                           a completion wakes it
 *  W1 waiter.thread = me    (volatile)      P1 the armed queue makes an event; the poller takes it
 *  W2 parked++              (volatile)      P2 [cqLock] armed = false          (volatile)
 *  W3 read armed            (volatile)      P3 [cqLock] read parked; if &gt; 0: armed = true, arm
 *     if false: [cqLock] armed = true,      P4 [cqLock] poll one batch, offer each to its inbox
 *     arm, poll one batch                   P5 full fence
 *  W4 take the protocol lock, apply         P6 read waiter.thread, unpark
 *     the inbox, ask the client, unlock
 *  W5 park, and go to W3
 * </pre>
 * <ol>
 * <li><em>The device tells a thread</em> ({@code armed} against {@code parked}). W2 comes before W3, and P2 before P3,
 * all volatile: so either P3 sees the waiter and arms again, or W3 sees that the queue is not armed, and the waiter
 * arms. The thread that arms polls afterwards (W3, P4), under the same lock, because what was there before makes no
 * event; a full batch is followed by further ones. {@code armed} is true from then until the event is handled, not
 * until it is made: so a waiter that reads true is going to be told of what comes. The poller and a waiter that arms
 * wait for the lock; a leader, and a thread whose post made the event, only try, and leave the event to the poller.
 * <li><em>The polling thread tells the waiter</em> ({@code waiter.thread} against the inbox). W1 comes before W4, and
 * the offer of P4 before P6, with a full fence between them: so either the waiter finds the completion, or it is
 * unparked. An unpark before W5 makes that park return. The JCTools offer ends in a release store, which is not enough
 * without the fence. The same pair stands behind a token, a failure, a close ({@code open}), and an orphan task.
 * <li><em>The waiter tells the other one.</em> Both roles share the inbox: credits for the writer come as receives and
 * wake the reader. The thread that applies them asks the client for both roles, and unparks the other waiter. A waiter
 * published itself (W1) before it took the protocol lock (W4): so either it saw what was applied, or the thread that
 * applied it, later under that lock, sees the waiter. A waiter that leaves withdraws (volatile) and enters
 * once more, since it may have taken a wake-up that was for the other. A leader's own inbox needs no wake-up: the
 * leader enters it next. {@code creditOwed} says that a send completion has to wake the reader, if no writer waits.
 * </ol>
 * Leaders take work away and add no duty: they neither arm nor clear {@code armed}. The poller finds, after an event,
 * that threads have led since it last came by ({@code leads}) and none is parked: then it leaves the queue unarmed, so
 * that a ping-pong between leaders wakes no poller, and comes by every 10 ms (the <em>lease</em>) for connections that
 * no thread waits for. A parked thread never depends on that: a lease that finds something for one counts a rescue
 * ({@code Rescues}). An {@code Error} between a duty and its fulfilment sets {@code looksAtAll}, and the poller, woken
 * for that, looks after every shard as after an event.
 *
 * <p>Virtual threads that wake each other can starve one that is woken from outside (JDK-8373118); so for half a
 * millisecond of each ten they leave it to the poller to unpark ({@code WakeThrottle}).
 *
 * <p>Threads: any thread may enter, except where a method says otherwise; no lock is held across a park or a wake-up.
 * This package knows nothing of the protocol: it hands completions to a
 * {@link org.rdmasockets.internal.waiting.CompletionClient} and asks it whether it is ready. It uses the contracts of
 * {@code verbs} and the packages {@code lock} and {@code log}, so its tests run it over a device made of plain Java.
 */
package org.rdmasockets.internal.waiting;
