# Sourced by the commands that run a main class of the tests in the guest: soak, faults, src/jmh/run.

cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
. .ci/jdk.sh

# The address of a device.
address_of() {
    case $1 in
    rxe0) echo 10.77.0.1 ;;
    siw0) echo 10.78.0.1 ;;
    *) echo "no such device in the guest: $1 (rxe0 or siw0)" >&2; return 1 ;;
    esac
}

build() { build_alone; }

# in_guest SECONDS DEVICE CLASS [ARG...]: boots a guest for the class; more options for its JVM are in jvm_options.
in_guest() {
    local limit=$1 device=$2 address jdk
    shift 2
    address=$(address_of "$device")
    jdk=$(find_jdk)
    GUEST_TIMEOUT=$limit src/test/guest/run "$jdk/bin/java" -ea --enable-native-access=ALL-UNNAMED \
        "${jvm_options[@]}" -Dorg.rdmasockets.transport=ibverbs \
        -Dorg.rdmasockets.test.device="$device" -Dorg.rdmasockets.test.address="$address" \
        -cp 'target/classes:target/test-classes:target/lib/*' "$@"
}
