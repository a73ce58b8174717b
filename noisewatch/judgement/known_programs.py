"""Programs that are known to work on their own account, by what they do."""

from __future__ import annotations

from collections.abc import Mapping

_KERNELS_NAME = 15  # characters: the kernel keeps no more of a name

PACKAGES, INDEX, BUILD, BACKUP = "package manager", "indexer", "compiler", "backup"
SCANNER, BROWSER, BENCHMARK = "scanner", "browser", "benchmark or profiler"

_NAMES_BY_KIND: Mapping[str, tuple[str, ...]] = {
    PACKAGES: (
        *("apt", "apt-get", "aptitude", "dpkg", "dpkg-deb", "unattended-upgrade", "apt-check", "needrestart"),
        *("dnf", "dnf5", "dnf-automatic", "yum", "rpm", "zypper", "pacman", "apk", "emerge", "nix-daemon", "nix-build"),
        *("packagekitd", "snapd", "flatpak", "fwupd", "update-manager", "update-notifier", "gnome-software"),
    ),
    INDEX: (
        *("tracker-miner-fs-3", "tracker-miner-fs", "tracker-extract-3", "tracker-extract", "localsearch-3"),
        *("localsearch-extractor-3", "baloo_file", "baloo_file_extractor", "updatedb", "updatedb.plocate"),
        *("updatedb.mlocate", "mandb", "recollindex", "clangd", "gopls", "rust-analyzer"),
    ),
    BUILD: (
        *("cc1", "cc1plus", "gcc", "g++", "clang", "clang++", "rustc", "cargo", "ninja", "make", "cmake", "bazel"),
        *("ld", "ld.bfd", "ld.gold", "ld.lld", "mold", "lto1", "lto-wrapper", "as", "go", "compile", "javac", "ghc"),
        *("swiftc", "nvcc", "cicc", "ptxas", "distccd", "sccache", "webpack", "esbuild"),
    ),
    BACKUP: (
        *("restic", "borg", "rsync", "rclone", "kopia", "duplicity", "duplicati", "rsnapshot", "timeshift", "snapper"),
        *("bacula-fd", "bareos-fd", "dsmc", "veeamservice", "urbackupclientbackend", "syncthing", "dropbox"),
    ),
    SCANNER: (
        *("clamd", "clamscan", "freshclam", "falcon-sensor", "falcon-sensor-bpf", "wdavdaemon", "osqueryd", "auditd"),
        *("ds_agent", "savd", "savscand", "oaeventd", "esets_daemon", "elastic-agent", "elastic-endpoint"),
        *("wazuh-agentd", "wazuh-syscheckd", "ossec-syscheckd", "sentinelone-agent", "cbagentd", "aide", "rkhunter"),
    ),
    BROWSER: (
        *("firefox", "firefox-bin", "firefox-esr", "Web Content", "Isolated Web Content", "WebExtensions"),
        *("chrome", "chromium", "chromium-browser", "brave", "msedge", "opera", "vivaldi-bin", "epiphany"),
        *("WebKitWebProcess", "WebKitNetworkProcess", "slack", "teams", "discord", "electron"),
    ),
    BENCHMARK: (
        *("sysbench", "stress", "stress-ng", "stressapptest", "fio", "iperf", "iperf3", "netperf", "netserver", "wrk"),
        *("hyperfine", "geekbench5", "geekbench6", "mprime", "xlinpack_xeon64", "y-cruncher", "cyclictest", "oslat"),
        *("perf", "strace", "ltrace", "bpftrace", "valgrind", "memcheck-amd64-linux", "callgrind-amd64-linux", "vtune"),
    ),
}
_KIND_BY_CUT_NAME = {name[:_KERNELS_NAME]: kind for kind, names in _NAMES_BY_KIND.items() for name in names}


def kind_of_program(name: str) -> str | None:
    """What the program of that name does; None where it is nothing in particular."""
    return _KIND_BY_CUT_NAME.get(name[:_KERNELS_NAME])
