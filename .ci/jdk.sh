# Sourced by scripts that run Java without Maven, from the root of the project or anywhere in it.

# Prints the home of a JDK 25 or newer; without one, says how to get it and returns 1.
find_jdk() {
    local home version
    for home in "${JAVA_HOME:-}" "$(readlink -f "$(command -v javac)" | sed 's:/bin/javac$::')" \
            /usr/lib/jvm/* ~/.sdkman/candidates/java/* ~/.jdks/*; do
        if [[ -x $home/bin/javac && -r $home/release ]]; then
            version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release")
            if ((${version:-0} >= 25)); then
                echo "$home"
                return
            fi
        fi
    done
    echo "A JDK 25 or newer is needed and none was found: install one (Debian: openjdk-25-jdk or temurin-25-jdk)," \
        "or set JAVA_HOME." >&2
    return 1
}

project_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# build_alone [CHECK]: compiles everything by Maven, alone in this checkout: a second build waits, and says so. Does nothing
# if the command CHECK finds, once it is alone, that all is up to date. Maven's output goes to stderr, without colours.
build_alone() {
    local check=${1:-false} lock status=0
    exec {lock}<"$project_root"
    if command -v flock >/dev/null && ! flock -n "$lock"; then
        echo "another build is going on in $project_root; waiting for it" >&2
        flock "$lock" || echo "building all the same: no lock can be had here" >&2
    fi
    "$check" || build_now || status=$?
    exec {lock}<&-
    return $status
}

build_now() {
    if [[ ! -w $project_root ]]; then
        echo "the build is missing or out of date, and $project_root cannot be written here: run mvn test-compile outside" >&2
        return 1
    fi
    echo "building $project_root" >&2
    local begun=$project_root/target/building
    mkdir -p "$project_root/target"
    touch "$begun"
    mvn -q -B -ntp -Dstyle.color=never -Dcheckstyle.skip -DskipTests -f "$project_root/pom.xml" test-compile 2>&1 |
        sed $'s/\x1b\\[[0-9;]*m//g; /^$/d' >&2 || { echo "the build failed" >&2; return 1; }
    # Maven leaves alone what it finds unchanged; this says that it has looked, and when.
    mv "$begun" "$project_root/target/built"
}
