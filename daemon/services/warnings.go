package services

import (
	"fmt"

	"github.com/respawnd/respawnd/configs"
)

// Warnings returns settings that are allowed but rarely intended.
func (c *Config) Warnings() []string {
	var warnings []string
	note := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	if host, _ := configs.SplitListen(c.Admin.Listen); c.Admin.Listen != "" && !host.IsLoopback() {
		note("admin.listen: %s can be reached from other machines without encryption", c.Admin.Listen)
	}
	for _, p := range c.Net.Trusted {
		if p.Bits() == 0 {
			note("net.trusted: %s is every address: no limit per address is in force", p)
		}
	}
	for _, p := range c.Web.TrustedProxies {
		if p.Bits() == 0 {
			note("web.trusted_proxies: %s is every address: any visitor may claim another address", p)
		}
	}
	for _, p := range c.WebServices.SnapshotServers {
		if p.Bits() == 0 {
			note("webservices.snapshot_servers: %s is every address: anyone may change the totals of players", p)
		}
	}
	for _, pair := range []struct {
		small, large string
		tooLarge     bool
	}{
		{"master.max_per_addr", "master.max_per_net", c.Master.MaxPerAddr > c.Master.MaxPerNet},
		{"master.max_per_net", "master.max_servers", c.Master.MaxPerNet > c.Master.MaxServers},
		{"serverbrowse.max_per_addr", "serverbrowse.max_conns", c.ServerBrowse.MaxPerAddr > c.ServerBrowse.MaxConns},
		{"web.max_per_addr", "web.max_conns", c.Web.MaxPerAddr > c.Web.MaxConns},
		{"web.max_streams_per_addr", "web.max_streams", c.Web.MaxStreamsPerAddr > c.Web.MaxStreams},
		{"serverbrowse.keepalive", "serverbrowse.idle", c.ServerBrowse.KeepAlive >= c.ServerBrowse.Idle},
	} {
		if pair.tooLarge {
			note("%s: not below %s, so it has no effect", pair.small, pair.large)
		}
	}
	if c.Cluster.On() && c.Cluster.Insecure {
		note("cluster.insecure: everyone who reaches cluster.listen can change the list and read messages of players")
	}
	warnings = append(warnings, c.Relay.Warnings()...)
	warnings = append(warnings, c.Storage.Warnings()...)
	return append(warnings, c.Mail.Warnings(c.Web.PublicURL)...)
}
