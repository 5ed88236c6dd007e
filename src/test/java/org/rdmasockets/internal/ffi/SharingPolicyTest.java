package org.rdmasockets.internal.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Settings that are wrong permit nothing, and say what they have to be. */
class SharingPolicyTest {
    @Test
    void withoutSettingsOnlyTheOwnUserIsPermitted() {
        SharingPolicy policy = new SharingPolicy("", " ", "");
        assertNull(policy.problem());
        assertFalse(policy.isExtended());
        assertFalse(policy.mayPermit(1, 1));
        assertNull(policy.directory());
    }

    @Test
    void usersAndGroupsAreListsOfNumbers() {
        SharingPolicy policy = new SharingPolicy("/names", "1000, 4294967294", "");
        assertNull(policy.problem());
        assertTrue(policy.mayPermit(1000, 1) && policy.mayPermit(-2, 1));
        assertFalse(policy.mayPermit(1001, 1000));
        assertTrue(policy.spansNetworks());
        assertEquals(Path.of("/names"), policy.directory());
        SharingPolicy groups = new SharingPolicy("", "", "100");
        assertTrue(groups.isForOthers() && groups.mayPermit(1001, 100));
        assertFalse(groups.mayPermit(100, 1001));
        assertFalse(groups.spansNetworks());
    }

    @ParameterizedTest
    @CsvSource({"'',root,'',numbers", "'',1000;1001,'',numbers", "'',-1,'',numbers", "'','1,,2','',numbers",
        "'','',staff,numbers", "names,'','',absolute"})
    void whatIsNoSettingIsSaid(String directory, String users, String groups, String expected) {
        SharingPolicy policy = new SharingPolicy(directory, users, groups);
        assertTrue(policy.problem().contains(expected), policy.problem());
        assertFalse(policy.mayPermit(1000, 1000));
    }
}
