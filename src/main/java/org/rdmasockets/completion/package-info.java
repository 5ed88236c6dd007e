/**
 * From the completion queue to the parked thread: how blocking code waits for an RDMA device.
 *
 * <p>A connection has one {@link org.rdmasockets.completion.CompletionInbox}. A work request carries the inbox's number
 * in its identifier, so whoever polls a completion queue, which serves many connections, knows where each completion
 * belongs. It puts it into that inbox and wakes the connection's reader or writer. Three kinds of threads poll, under
 * the queue's lock, one batch at a time:
 * <ul>
 * <li>a <em>leader</em>: a waiter that polls for itself for some microseconds, while that does not keep others from
 * running ({@code SpinPolicy}); a lone ping-pong never changes threads; nobody leads before the peer's first message,
 * which perhaps takes a thread that has yet to be started;
 * <li>a waiter that <em>arms</em>: it is about to park and finds the queue unarmed, so the next completion would make
 * no event;
 * <li>the <em>poller</em>, a platform thread that sleeps until an armed queue makes its one event.
 * </ul>
 * One waiter at a time may keep the <em>watch</em> instead of parking ({@code Watch}): it sleeps in the same system
 * call beside the poller, and takes the event itself. An event wakes one of the two, and who has taken it handles it.
 *
 * <p>Why no wake-up is lost. (1) <em>Somebody is told by the device.</em> A waiter counts itself in {@code parked} and
 * then reads {@code armed}; the poller, after an event, clears {@code armed} and then reads {@code parked}. All four
 * are volatile, so at least one sees the other: the waiter arms, or the poller does. Who arms polls afterwards,
 * because what was there before makes no event; a full batch is followed up by the poller. Only who has taken the
 * event clears {@code armed}, under the lock, for which the poller and the watch wait. The poller does so when it finds
 * nothing any more: until then the queue counts as armed, as the poller is going to look. A watch that is the only one
 * parked leaves the queue unarmed: it arms it before it sleeps again, and the poller comes by within the lease. Who
 * wakes a waiter looks after that whether it keeps the watch, and it takes the watch before it looks at its inbox; so
 * either it is woken there or it sees what it would be woken for. Leaders merely take work away. With leaders and
 * nobody parked, the poller leaves the queue unarmed and looks again every 10 ms (the lease). (2) <em>The waiter is
 * told by who polled.</em> That thread offers to the inboxes, passes one full fence, and reads the waiters; the waiter
 * writes itself there by a volatile store and then drains its inbox. Acquire and release are not enough for this. A
 * leader's own inbox needs none of it: he enters it next, by its lock, and leaving wakes the other waiter. If his is
 * the only completion of a batch and nothing is in the inbox, he takes that lock before he gives up the queue's and
 * keeps the completion to himself: nobody can take in what comes later before he has applied it. (3) <em>A hint that
 * hits the wrong waiter is passed on.</em> One inbox serves both roles: credits for the writer come as receives and
 * wake the reader. Who drains applies everything and wakes the other if it became ready, and a waiter that leaves
 * enters once more after it has withdrawn, since it may have taken a hint meant for both. A reader that owes credit is
 * woken by sends. And nothing hides anything else: what is put in is there by one compare-and-set, and who drains
 * takes all that is there.
 *
 * <p>Virtual threads that wake each other can starve one that is woken from outside (JDK-8373118); so for half a
 * millisecond of each ten they leave waking to the poller (the valve).
 *
 * <p>Threads: any thread may enter, except where a method says otherwise; no lock is held across a park or a wake-up.
 * The one thread here is {@link org.rdmasockets.completion.CompletionPoller}'s. This package knows nothing of the
 * protocol: it hands completions to a {@link org.rdmasockets.completion.CompletionClient} and asks it whether it is
 * ready. It uses the contracts of {@code verbs} and the locks of {@code lock} only, so its tests run it over a device
 * made of plain Java.
 */
package org.rdmasockets.completion;
