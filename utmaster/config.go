package utmaster

import (
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Config is section utmaster of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address, and TCP with the same port. Games expect port 28902.
	Listen              string `key:"listen" default:":28902" listen:"udp+tcp 28902"`
	netserve.ConnLimits `defaults:"max_conns=4096 max_per_addr=64 rate=10 burst=40"`
	// Game servers from one address, {range}. 0: no bound of its own.
	ServersPerAddr int `key:"servers_per_addr" default:"32" range:"0 to 65535" live:"true"`
	// Time for a client to sign in and request something, and for a server to sign in,
	// {range}. One that sends nothing at all is disconnected after 10s even if this is
	// longer.
	RequestTime time.Duration `key:"request_time" default:"30s" range:"1s to 1m" live:"true"`
	// A game server that was silent for this long is disconnected and leaves the list,
	// {range}. Servers report every minute.
	Timeout time.Duration `key:"timeout" default:"5m" range:"2m to 1h" live:"true"`
	// Asks game servers to send a datagram from each of their ports, true or false. It
	// proves the ports, also behind routers.
	Probe bool `key:"probe" default:"true" live:"true"`
	// How long the datagrams are waited for, {range}. After that a server gets the usual
	// ports.
	ProbeWait time.Duration `key:"probe_wait" default:"5s" range:"100ms to 30s" live:"true"`
	// Lists servers none of whose ports has answered, true or false. Players can most
	// probably not join them.
	ListUnproved bool `key:"list_unproved" default:"false" live:"true"`
	// Sends the ports to game servers before Unreal Tournament 2004 in a short form, as
	// one other master does, true or false. false: in the long form of all versions.
	ShortPorts bool `key:"short_ports" default:"false" live:"true"`
	// Sends a byte of flags with each server in lists for Unreal 2 XMP, true or false:
	// the masters that are known differ.
	XMPFlags bool `key:"xmp_flags" default:"true" live:"true"`
	// Pause between the number of servers in a list and the servers, {range}, for tools
	// only: the browser of qstat loses servers that arrive together with the number.
	ListPause time.Duration `key:"list_pause" default:"20ms" range:"0s to 1s" live:"true"`
	// Asks game servers for the key digests of their players, true or false, and has
	// them disconnect players whose keys are banned with `respawnd cdkey ban`.
	AskKeys bool `key:"ask_keys" default:"false" live:"true"`
}
