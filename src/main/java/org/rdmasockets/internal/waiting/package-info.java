/**
 * From the completion queue to the parked thread: how blocking code waits for an RDMA device.
 *
 * <p>A {@link org.rdmasockets.internal.waiting.CompletionShard} is one completion queue, which serves many connections;
 * a {@link org.rdmasockets.internal.waiting.CompletionInbox} is a JCTools queue of what has arrived for one of them. A
 * work request carries the inbox's number in its identifier. A thread that polls the completion queue holds its
 * {@code cqLock} for one batch, offers each completion to its inbox, and then wakes that connection's reader or writer
 * ({@code Waiter}; at most one waits in each role). A thread that enters the inbox applies what is there: it hands it
 * to the connection's protocol, the {@link org.rdmasockets.internal.waiting.CompletionClient}, which also says whether
 * a role is ready. Besides completions an inbox takes <em>tokens</em>, objects from other threads, such as the news
 * that the peer is gone. The client can hear of what arrives while no thread waits ({@code onBacklog}).
 *
 * <p>A thread waits in three ways, in this order: (1) it finds what it waits for in its inbox; (2) it <em>leads</em>:
 * it polls the completion queue for itself, and for all others, within a budget of some microseconds
 * ({@code SpinPolicy} says when); (3) it <em>parks</em>. Only one thread sleeps in a system call: the
 * {@link org.rdmasockets.internal.waiting.CompletionPoller}, until an armed queue makes its one event. A device that
 * executes a request in the thread that posts it may hand the event to that thread instead of the poller.
 *
 * <p><b>Why no wake-up is lost.</b> A completion is handed over up to three times on its way to a parked thread.
 * <pre>
 * a waiter parks                           a completion wakes it
 *  W1 waiter.thread = me    (volatile)      P1 the armed queue makes an event; the poller takes it
 *  W2 parked++              (volatile)      P2 [cqLock] armed = false          (volatile)
 *  W3 read armed            (volatile)      P3 [cqLock] if no thread has led since the last visit, or
 *     if false: [cqLock] armed = true,         parked &gt; 0: armed = true, arm
 *     arm, poll one batch                   P4 [cqLock] poll one batch, offer each to its inbox
 *  W4 take the protocol lock, apply         P5 full fence
 *     the inbox, ask the client, unlock     P6 read waiter.thread, unpark
 *  W5 park, and go to W3
 * </pre>
 * Over a device, to arm is {@code ibv_req_notify_cq}, and to take an event {@code ibv_get_cq_event}. Between P1 and P2
 * the poller goes through P4 to P6 as often as a poll finds something, up to a bound. Meanwhile the queue stays armed
 * in name, so that no waiter arms it.
 * <ol>
 * <li><em>The device tells a thread</em> ({@code armed} against {@code parked}). W2 comes before W3, and P2 before P3,
 * all volatile: so either P3 sees the waiter and arms again, or W3 sees that the queue is not armed, and the waiter
 * arms. Both poll after they have armed (W3, P4), under the same lock, because a completion that was there before makes
 * no event; after a full batch they poll further ones. {@code armed} is true from the arming until the event is
 * handled, not until it is made: so a waiter that reads true is told of what comes by the thread that handles the
 * event. The poller and a waiter that arms wait for {@code cqLock}. A leader only tries to take it. A thread whose post
 * made the event only tries, too, and leaves the event to the poller if another thread has the lock.
 * <li><em>The polling thread tells the waiter</em> ({@code waiter.thread} against the inbox). W1 comes before W4, and
 * the offer of P4 before P6, with a full fence between them: so either the waiter finds the completion, or it is
 * unparked. An unpark before W5 makes that park return. The JCTools offer ends in a release store, which is not enough
 * without the fence. A token, a failure, a close ({@code open}) and {@code tellsAll} are told in the same way: first
 * the store, then the look at the other side.
 * <li><em>One waiter tells the other.</em> Reader and writer share the inbox: credits for the writer come as receives,
 * and a receive wakes the reader. The thread that applies them asks the client about both roles, and unparks the other
 * waiter if that one is ready. A waiter publishes itself (W1) before it takes the protocol lock (W4): so either it sees
 * what was applied, or the thread that applies it takes that lock later, and sees the waiter before it unlocks. A
 * waiter that leaves withdraws (volatile) and enters once more, since it may have taken a wake-up that was for the
 * other. A leader's own inbox needs no wake-up: the leader enters it next. {@code creditOwed} says that the client has
 * something to tell the peer as soon as a send completes: then a send completion wakes the reader, if no writer waits.
 * </ol>
 * Leaders take work away and add no duty: they neither arm nor clear {@code armed}, but count in {@code leads}. If
 * threads have led and none is parked, P3 leaves the queue unarmed, so that a ping-pong between leaders wakes no
 * poller. The poller then comes by every 10 ms (the <em>lease</em>), for connections that no thread waits for. A parked
 * thread never depends on that: a lease that finds something for one counts a rescue ({@code Rescues}).
 *
 * <p>Over shared memory arming goes on to the process at the other end. That half of the proof is with its code:
 * "Wake-ups" in {@code internal.sharedmemory.link}, and {@code LinkDispatcher.arm} with
 * {@code LinkDispatcher.onDoorbell}.
 *
 * <p>Datagrams of sockets come over the same links and are no completions. The thread that takes one in, whether it
 * leads or answers a doorbell, offers a token, which tells the receiver as above. While the queue is armed, a doorbell
 * brings datagrams and leaves it so; one that a leader finds makes an event, as a completion does.
 *
 * <p>An {@code Error} may strike a thread before it has armed a queue or woken a waiter. Then {@code looksAtAll} is
 * set, and the poller wakes and looks after every shard as after an event.
 *
 * <p>Virtual threads that wake each other can starve one that is woken from outside (JDK-8373118). So for half a
 * millisecond of each ten they leave it to the poller to unpark ({@code WakeThrottle}).
 *
 * <p>Threads: any thread may enter, except where a method says otherwise; no lock is held across a park or a wake-up.
 * This package knows nothing of the protocol. It uses the contracts of {@code verbs} and the packages {@code lock} and
 * {@code log}, so its tests run it over a device made of plain Java.
 */
package org.rdmasockets.internal.waiting;
