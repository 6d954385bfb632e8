package qr2

import (
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Config is section qr2 of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Games expect port 27900.
	Listen string `key:"listen" default:":27900" listen:"udp 27900"`
	netserve.SocketConfig
	// Hosts kept in memory at a time that have not yet answered their challenge,
	// {range}.
	MaxPending int `key:"max_pending" default:"8192" range:"1 to 10000000" live:"true"`
	// Packets per second, without heartbeats that are as long as their answer,
	// accepted from an address that has not yet proved that it is its own, {range}.
	// Packets above the limit are dropped and counted.
	UnprovedRate int `key:"unproved_rate" default:"20" range:"1 to 1000000" live:"true"`
	// Packets that an unproved address may send at once before the rate applies,
	// {range}. Many hosts behind one router start together after a power cut.
	UnprovedBurst int `key:"unproved_burst" default:"60" range:"1 to 1000000" live:"true"`
	// Availability of games that are not in the catalogue, true or false. false:
	// the answer is "available", true: "unavailable".
	StrictAvailability bool `key:"strict_availability" default:"false" live:"true"`
	// Maintenance, true or false. true: the answer to all games is that the service is
	// temporarily unavailable. Hosts that are listed stay listed.
	Maintenance bool `key:"maintenance" default:"false" live:"true"`
	// Sends a refused host the reason, true or false. Some games show the text.
	AddError bool `key:"adderror" default:"true" live:"true"`
	// Reachability probe, true or false. After a host has proved its address it
	// is queried from a second port, to find out whether strangers can reach
	// it. The second socket uses any free port.
	Probe bool `key:"probe" default:"true"`
	// Masters of 333networks, host:port each, such as [master.example.org:27900]: this one announces
	// itself to them every minute, answers their questions, and they show it in their lists of
	// masters. At most 16.
	Announce []string `key:"announce" as:"text"`
	// A host that was silent for this long leaves the list, {range}. Hosts speak
	// every 20 seconds, so the default forgives three lost packets.
	Expire time.Duration `key:"expire" default:"75s" range:"30s to 1h" live:"true"`
}
