# Sourced by scripts that run Java without Maven.

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
