package daemon

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/durable"
	"github.com/respawnd/respawnd/internal/engine"
)

// portsFile, in the data folder, lists the ports of the last start, a line for each.
const portsFile = "listeners"

// releasedKeys are the keys of the ports of release 0.9.0, which left no portsFile.
const releasedKeys = "admin.listen cdkey.listen dns.listen gpcm.listen gpsp.listen gstats.listen legacylist.listen natneg.extra_listen natneg.listen " +
	"peerchat.listen q3master.listen qr2.listen serverbrowse.listen ssq.listen valvemaster.listen web.listen webservices.listen " +
	"webservices.tls_listen zanmaster.listen"

// comparePorts logs the ports that this start opened and the last one did not, and those
// that are closed now. After the first start there is nothing to compare.
func (d *Daemon) comparePorts(s *settings) {
	path := filepath.Join(s.DataDir, portsFile)
	now := d.ports(s)
	text, err := os.ReadFile(path)
	before := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	if err != nil {
		before = now
		if engine.Upgraded(s.DataDir) {
			before = released(now)
		}
	}
	opened, closed := without(now, before), without(before, now)
	if len(opened)+len(closed) > 0 {
		e := d.log.Info()
		if len(opened) > 0 {
			e = d.log.Warn().Strs("opened", opened)
		}
		if len(closed) > 0 {
			e = e.Strs("closed", closed)
		}
		e.Msg("the ports are not those of the last start; the key services lists what runs, an empty address closes one port, false if its key is a switch")
	}
	if content := strings.Join(now, "\n") + "\n"; content != string(text) {
		if err := durable.WriteSecret(path, []byte(content), true); err != nil {
			d.log.Warn().Err(err).Msg("the ports of this start cannot be saved; the next start cannot compare them with its own")
		}
	}
}

// ports returns the configured ports of the services that run, each with its
// network, address and key: "udp :27900 qr2.listen".
func (d *Daemon) ports(s *settings) (list []string) {
	for _, l := range configs.Listeners(s.config) {
		if slices.ContainsFunc(d.running, func(o opened) bool { return o.Name == l.Service }) {
			list = append(list, l.Network+" "+plainAddress(l.Address)+" "+l.Key)
		}
	}
	for _, o := range d.running {
		for _, a := range o.run.Ports {
			list = append(list, "udp "+plainAddress(a)+" "+o.Key)
		}
	}
	return list
}

// plainAddress returns an address of the configuration in the one form of those that mean
// the same: that of all addresses has no host.
func plainAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if a, bad := netip.ParseAddr(host); err == nil && bad == nil && a.IsUnspecified() {
		return ":" + port
	}
	return address
}

// released returns those of the ports that release 0.9.0 had too.
func released(ports []string) []string {
	keys := strings.Fields(releasedKeys)
	return slices.DeleteFunc(slices.Clone(ports), func(line string) bool {
		return !slices.Contains(keys, line[strings.LastIndexByte(line, ' ')+1:])
	})
}

// without returns the lines of list that are not in other.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(line string) bool { return slices.Contains(other, line) })
}
