package host

import (
	"fmt"
	"strings"

	"lazaret.dev/lazaret/runtime"
)

// distribution says how things are done here.
type distribution struct {
	id      string // of os-release(5): "debian", "ubuntu", or another, or ""
	version string // VERSION_ID
	code    string // VERSION_CODENAME
	apt     bool
	sudo    string // "sudo " unless root already
}

func (m machine) distribution() distribution {
	d := distribution{sudo: "sudo "}
	if m.uid == 0 {
		d.sudo = ""
	}
	b, err := readSmall(m.path("etc/os-release"))
	if err != nil {
		b, _ = readSmall(m.path("usr/lib/os-release"))
	}
	var like string
	for line := range strings.Lines(string(b)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			continue
		}
		value = strings.Trim(value, `"'`)
		switch key {
		case "ID":
			d.id = value
		case "VERSION_ID":
			d.version = value
		case "VERSION_CODENAME":
			d.code = value
		case "ID_LIKE":
			like = value
		}
	}
	for _, id := range strings.Fields(d.id + " " + like) {
		d.apt = d.apt || id == "debian" || id == "ubuntu"
	}
	return d
}

// install is how to get a Debian package, whose name other distributions often share.
func (d distribution) install(pkg string) string {
	if d.apt {
		return d.sudo + "apt-get install " + pkg
	}
	return "install the package " + pkg + " with your package manager"
}

func (d distribution) kernelFix() string {
	switch {
	case d.id == "debian" && (d.code == "bookworm" || d.version == "12"):
		return `take the kernel from backports: echo "deb $(grep -hE '^(deb|URIs:) ' -r /etc/apt/sources.list* | grep -oE 'https?://[^ ]+/debian/?' | head -1) bookworm-backports main" | ` + d.sudo +
			"tee /etc/apt/sources.list.d/backports.list && " + d.sudo + "apt-get update && " + d.sudo +
			"apt-get install -t bookworm-backports linux-image-amd64; then reboot"
	case d.id == "ubuntu" && d.version != "":
		return d.sudo + "apt-get install linux-generic-hwe-" + d.version + "; then reboot"
	}
	return "update the kernel with your package manager, then reboot"
}

// sysctl is how to set a kernel setting now and at every start.
func (d distribution) sysctl(setting string) string {
	return "echo '" + setting + "' | " + d.sudo + "tee -a /etc/sysctl.d/60-lazaret.conf && " + d.sudo + "sysctl --system"
}

// appArmorFix is the profile that lets lazaret and its companions, and nothing
// else, make user namespaces.
func (d distribution) appArmorFix(programs string) string {
	return d.sudo + "tee /etc/apparmor.d/lazaret >/dev/null <<'END' && " + d.sudo + `apparmor_parser -r /etc/apparmor.d/lazaret
abi <abi/4.0>,
include <tunables/global>
profile lazaret ` + programs + ` flags=(unconfined) {
  userns,
}
END`
}

func (d distribution) overlayFix() string {
	return "keep the Storage Root on a local file system such as ext4, xfs or btrfs ([storage] data_root), and load the overlay module: " + d.sudo + "modprobe overlay"
}

func (d distribution) nftablesFix() string {
	return d.sudo + "modprobe -a nf_tables nfnetlink; a kernel of your own needs CONFIG_NF_TABLES, CONFIG_NF_TABLES_NETDEV and CONFIG_NETFILTER_EGRESS"
}

// deviceFix opens a device node to all users, now and at every start, as stock
// distributions do.
func (d distribution) deviceFix(dev device) string {
	return d.sudo + "chmod 0666 " + dev.path + ` && echo 'KERNEL=="` + dev.kernel + `", MODE="0666"' | ` + d.sudo +
		"tee /etc/udev/rules.d/60-lazaret.rules"
}

// subordinateFix gives the user the first range nobody has.
func (d distribution) subordinateFix(name string, taken []subordinateEntry) string {
	first := uint32(100000) // where login.defs(5) begins
	for ; first < rootRangeFirst-idCount; first += idCount {
		if _, used := overlap(taken, runtime.IDRange{Host: first, Count: idCount}); !used {
			break
		}
	}
	return fmt.Sprintf("%susermod --add-subuids %[2]d-%[3]d --add-subgids %[2]d-%[3]d %[4]s", d.sudo, first, first+idCount-1, name)
}
