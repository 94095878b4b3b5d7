# What the scripts of the top level have in common: what the machine needs, and a build without output. To be sourced.
# shellcheck shell=bash

readonly MIN_JAVA=17
TOOL=$(basename "$0")
readonly TOOL
MAVEN_WRAPPER=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")/mvnw
# For the function below in the scripts that this one starts.
export MAVEN_WRAPPER

say() { echo "$TOOL: $*"; }

die() {
  echo "$TOOL: $*" >&2
  exit 1
}

java_major() {
  local javac=${JAVA_HOME:+$JAVA_HOME/bin/}javac version
  # A line about JAVA_TOOL_OPTIONS can come first.
  version=$("$javac" -version 2>&1) && sed -nE 's/^javac (1\.)?([0-9]+).*/\2/p' <<<"$version" || echo 0
}

# provide_maven: the Maven on the PATH, else the one that ./mvnw pins and fetches, unless Debian's is going to be installed.
provide_maven() {
  if command -v mvn >/dev/null || { can_install && [[ -z ${NO_INSTALL:-} ]]; }; then return 0; fi
  say "no Maven is on the PATH; ./mvnw fetches one to the folder .m2/wrapper of the user"
  mvn() { "$MAVEN_WRAPPER" "$@"; }
  export -f mvn
}

# missing_packages COMMAND...: the Debian packages of a JDK, of Maven, and of those commands that are not on the PATH, nor where
# Debian has servers, which an ordinary user's PATH leaves out. Each command here bears the name of its package.
missing_packages() {
  (($(java_major) >= MIN_JAVA)) || echo "openjdk-$MIN_JAVA-jdk-headless"
  local command PATH=$PATH:/usr/sbin:/sbin
  for command in mvn "$@"; do
    command -v "$command" >/dev/null || echo "${command/#mvn/maven}"
  done
}

# Debian starts a service when it installs one; ours start servers of their own.
without_services() {
  local policy=/usr/sbin/policy-rc.d
  if [[ -e $policy ]]; then
    "$@"
    return
  fi
  # A subshell, because its trap removes the file after Ctrl-C too.
  (
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    "$@"
  )
}

# debian_mirror [FILE...]: the first mirror of Debian's packages among apt's sources, or in the lists that "mirror+file:" names.
debian_mirror() {
  local files=("$@")
  ((${#files[@]})) || files=(/etc/apt/sources.list /etc/apt/sources.list.d/* /etc/apt/mirrors/*)
  sed -nE 's#^((URIs:|deb( \[[^]]*\])?) +)?(https?://[^ ]*/debian)/?([[:space:]].*)?$#\4#p' "${files[@]}" 2>/dev/null | sed -n 1p || true
}

can_install() { [[ -f /etc/debian_version && $EUID -eq 0 ]]; }

# install_missing COMMAND...: sees to a JDK, Maven and those commands: installs them on Debian, elsewhere says what to install.
# With NO_INSTALL in the environment it only says what is missing.
install_missing() {
  local missing
  provide_maven
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if [[ -n ${JAVA_HOME:-} ]] && (($(java_major) < MIN_JAVA)); then
    die "JAVA_HOME=$JAVA_HOME holds no JDK of version $MIN_JAVA or newer; set it to one that does, or unset it"
  fi
  if [[ -n ${NO_INSTALL:-} ]]; then die "missing: ${missing[*]}; without --no-install they are installed from Debian's packages"; fi
  if ! can_install; then
    die "missing: ${missing[*]}. On Debian or Ubuntu: sudo apt-get install ${missing[*]}." \
      "Elsewhere: a JDK of version $MIN_JAVA or newer${*:+, and the commands $*}, all on the PATH."
  fi
  say "going to install from Debian's packages: ${missing[*]} (--no-install leaves the machine as it is)"
  apt-get update -qq >&2
  # Newer releases of Debian have newer ones only.
  apt-cache show "openjdk-$MIN_JAVA-jdk-headless" >/dev/null 2>&1 ||
    missing=("${missing[@]/#openjdk-$MIN_JAVA-jdk-headless/default-jdk-headless}")
  DEBIAN_FRONTEND=noninteractive without_services apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]} == 0)) || die "still missing after installing: ${missing[*]}; check the PATH for older versions"
}

# is_newer_than_sources FILE PATH...: tells whether nothing under the paths has changed since the file was made.
is_newer_than_sources() {
  local stamp=$1
  shift
  [[ -e $stamp && -z $(find "$@" -newer "$stamp" -print -quit) ]]
}

# lock_build: keeps apart two builds of this checkout, which would write the same files. The lock, on the checkout's folder, lasts until
# unlock_build or the end of this script. Maven is started without it (9<&-): its children may outlive the script.
lock_build() {
  local status=0
  if [[ -n ${locked:-} ]] || ! command -v flock >/dev/null; then return 0; fi
  locked=yes
  exec 9<.
  # Another code than 1: there are no locks on folders here.
  flock -n 9 2>/dev/null || status=$?
  if ((status == 1)); then
    say "another build of this checkout is under way; waiting for its end" >&2
    flock 9
  fi
}

unlock_build() {
  locked=
  exec 9<&-
}

# build_without_checks STAMP MODULE OPTION...: packages a module and what it needs, with a progress line on a terminal, and
# none of the checks that ./verify is for.
build_without_checks() {
  local stamp=$1 module=$2 log start=$SECONDS build maven
  shift 2
  log=$(mktemp)
  touch "$log.start"
  # The file and not the function: its process becomes the JVM.
  maven=$(type -P mvn) || maven=$MAVEN_WRAPPER
  "$maven" --batch-mode --quiet --projects "$module" --also-make "$@" -Dmaven.javadoc.skip -Dspotless.check.skip \
    -Denforcer.skip package </dev/null >"$log" 2>&1 9<&- &
  build=$!
  # Ctrl-C does not reach a command in the background.
  # shellcheck disable=SC2064 # the names are of now
  trap "kill $build 2>/dev/null || true; rm -f '$log' '$log.start'; exit 130" INT TERM
  while kill -0 "$build" 2>/dev/null; do
    if [[ -t 1 ]]; then printf '\r%s: building, %d s ' "$TOOL" $((SECONDS - start)); fi
    sleep 0.5
  done
  if ! wait "$build"; then
    echo
    cat "$log" >&2
    rm -f "$log" "$log.start"
    die "the build failed, see above; with all its output: mvn -pl $module -am $* package"
  fi
  mv "$log.start" "$stamp"
  rm -f "$log"
  trap - INT TERM
  if [[ -t 1 ]]; then printf '\r'; fi
  say "built in $((SECONDS - start)) s"
}

readonly COMMAND_STAMP=semaphore-cli/target/quickstart.stamp

has_command() {
  # The kit's libraries are copied last, and a build that was broken off may have none.
  [[ -e semaphore-cli/target/semaphore-cli.jar ]] && compgen -G 'semaphore-cli/target/lib/kit/*.jar' >/dev/null &&
    is_newer_than_sources "$COMMAND_STAMP" pom.xml .mvn semaphore-*/pom.xml semaphore-*/src/main
}

# provide_command: builds the semaphore command, without the tests, unless that is done and no source has changed since.
provide_command() {
  if has_command; then
    say "built already, nothing has changed since"
    return
  fi
  install_missing
  lock_build
  # Another build may have made it while this one waited.
  has_command || build_without_checks "$COMMAND_STAMP" semaphore-cli -Dmaven.test.skip
  unlock_build
}
