package org.rdmasockets.internal.ffi;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * The processes that may share memory with this one: those of its own user, and those of the users and groups that
 * settings name. Both ends decide, each by the kernel's word of who the other is ({@code SO_PEERCRED}).
 */
public final class SharingPolicy {
    private static final String SETTINGS_PREFIX = "org.rdmasockets.";
    /** The property that names the directory. */
    public static final String DIRECTORY = SETTINGS_PREFIX + "shared.directory";
    /** The reason of a refusal where no listener is seen, for a person. */
    public static final String NO_LISTENER = "no process that shares memory with this one listens there with an "
            + "RdmaServerSocket; one in another container does if both mount one directory, and name it: -D" + DIRECTORY
            + "=PATH";
    private static final String USERS = SETTINGS_PREFIX + "shared.users";
    private static final String GROUPS = SETTINGS_PREFIX + "shared.groups";
    private static final int[] NONE = {};
    private static final SharingPolicy CURRENT = new SharingPolicy(System.getProperty(DIRECTORY, ""),
            System.getProperty(USERS, ""), System.getProperty(GROUPS, ""));
    private final Path directory;
    private final int[] users;
    private final int[] groups;
    private final String problem;

    /** A policy by the texts of its settings, each empty for none. */
    SharingPolicy(String directory, String users, String groups) {
        String wrong = null;
        int[] permittedUsers = NONE;
        int[] permittedGroups = NONE;
        try {
            permittedUsers = numbers(users);
            permittedGroups = numbers(groups);
        } catch (NumberFormatException e) {
            wrong = "-D" + USERS + "=" + users + " and -D" + GROUPS + "=" + groups + " have to be numbers "
                    + "of users and groups, separated by commas, as 'id -u' and 'id -g' print them";
        }
        Path given = null;
        try {
            given = directory.isBlank() ? null : Path.of(directory.strip());
        } catch (InvalidPathException e) {
            wrong = "-D" + DIRECTORY + "=" + directory + " is no path in this process's encoding";
        }
        if (given != null && !given.isAbsolute()) {
            wrong = "-D" + DIRECTORY + "=" + directory + " has to be an absolute path";
        }
        this.directory = wrong == null ? given : null;
        this.users = wrong == null ? permittedUsers : NONE;
        this.groups = wrong == null ? permittedGroups : NONE;
        problem = wrong;
    }

    /** The policy of this process, read once. */
    public static SharingPolicy current() {
        return CURRENT;
    }

    private static int[] numbers(String list) {
        return list.isBlank() ? NONE
                : Arrays.stream(list.split(",", -1)).map(String::strip).mapToInt(Integer::parseUnsignedInt).toArray();
    }

    /** The fault of the settings, for a person; null if there is none. */
    public String problem() {
        return problem;
    }

    /** The directory that the settings name for the names of all processes; null for the places of this machine. */
    Path directory() {
        return directory;
    }

    /** Whether a process in another network namespace can be reached. */
    public boolean spansNetworks() {
        return directory != null;
    }

    /** Whether processes of other users may share memory with this one. */
    boolean isForOthers() {
        return users.length + groups.length > 0;
    }

    /** Whether peers are told apart more strictly than one user's own processes on one host have to be. */
    public boolean isExtended() {
        return isForOthers() || spansNetworks();
    }

    /** Whether a user may be permitted, of which no group is known. */
    boolean mayPermit(int user) {
        return groups.length > 0 || contains(users, user);
    }

    /** Whether the owner of a file may be permitted, by its user or its group: the kernel says more of a peer. */
    boolean mayPermit(int user, int group) {
        return contains(users, user) || contains(groups, group);
    }

    /** Whether a connected peer may share memory with this process. */
    public boolean permits(PacketSocket.Peer peer, PacketSocket socket) {
        return peer.user() == PacketSocket.ownUser() || contains(users, peer.user())
                || groups.length > 0 && (contains(groups, peer.group()) || socket.isPeerIn(groups));
    }

    static boolean contains(int[] numbers, int number) {
        for (int one : numbers) {
            if (one == number) {
                return true;
            }
        }
        return false;
    }

    /** The settings that let a user and this process share memory, for a person. */
    public static String remedy(int other) {
        return remedy(other, PacketSocket.ownUser());
    }

    /** The same, where the other process sees this one's user as another number. */
    public static String remedy(int other, int own) {
        return "only processes of one user share memory, unless both ends name the other's user or group: -D" + USERS
                + "=" + Integer.toUnsignedString(other) + " here, -D" + USERS + "=" + Integer.toUnsignedString(own)
                + " there";
    }

    /** The refusal of a listener of a user that is not permitted here. */
    static VerbsException notPermitted(String name, int user) {
        return new VerbsException("connect", Errno.EACCES.number(), "name=" + name + ", user="
                + Integer.toUnsignedString(user), "the listener is user " + Integer.toUnsignedString(user)
                + "'s, this is user " + Integer.toUnsignedString(PacketSocket.ownUser()) + ", and " + remedy(user));
    }

    @Override
    public String toString() {
        return "user " + Integer.toUnsignedString(PacketSocket.ownUser()) + text(" users", users)
                + text(" groups", groups);
    }

    private static String text(String kind, int[] numbers) {
        return numbers.length == 0 ? "" : "," + kind + " " + Arrays.stream(numbers)
                .mapToObj(Integer::toUnsignedString).collect(Collectors.joining(", "));
    }
}
