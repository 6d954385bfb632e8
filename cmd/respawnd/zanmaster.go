package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/zanmaster"
)

// openZanMaster opens Zandronum's master. The prober asks its servers for what
// they play.
func (d *daemon) openZanMaster(ctx context.Context, l configs.Listener) (service, error) {
	c := d.cfg.ZanMaster
	if err := checkBanFolder(d.cfg); err != nil {
		return service{}, err
	}
	conn, err := netserve.ListenPackets(ctx, "udp4", l.Address, netserve.ListenOptions{Sockets: c.Sockets, ReadBuffer: c.ReadBuffer})
	if err != nil {
		return service{}, err
	}
	log := d.log.With().Str("service", "zanmaster").Logger()
	metrics := netserve.NewMetrics(d.metrics, "zanmaster", zanmaster.DropReasons()...)
	opt := zanmaster.Options{
		Registry: d.registry, Addresses: d.addresses, Bans: d.bans, Verdicts: d.book,
		Files: d.cfg.ZandronumBanFiles(), Poll: unlessZero(c.BanFilesPoll), Policy: d.zanPolicy(),
		Packets: netserve.PacketOptions{Readers: c.Readers, Log: log, Metrics: metrics},
		Log:     log, Metrics: metrics, Registerer: d.metrics,
	}
	if d.geo != nil {
		opt.Locate = d.geo.locate
	}
	zan := zanmaster.New(opt)
	d.zan.Store(zan)
	d.unlisted = append(d.unlisted, func() []admin.Listed { return hiddenServers(zan) })
	return service{
		address: conn.LocalAddr(), udp: localAddrs(conn),
		serve:  func(ctx context.Context) error { return zan.Serve(ctx, conn) },
		reload: func() { d.reloadZanMaster(zan) },
		close:  conn.Close,
	}, nil
}

// hiddenServers returns the servers that verified their address and are in no
// list.
func hiddenServers(zan *zanmaster.Server) (list []admin.Listed) {
	for _, h := range zan.Hosts() {
		if h.Listed {
			continue
		}
		reason := verdicts.Hidden
		if h.Enforces {
			reason = verdicts.ListFull
		}
		list = append(list, admin.Listed{
			Game: zandronum.Game, Origin: master.FromZandronum.String(), Address: h.Addr, Source: h.Addr,
			Hidden: reason.String(), First: h.First.UTC(), Last: h.Seen.UTC(),
		})
	}
	return list
}

// unlessZero makes "off" of the zero that switches something off in the
// configuration; in options zero is the default.
func unlessZero[T int | time.Duration](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

func (d *daemon) zanPolicy() zanmaster.Policy {
	c := d.cfg.ZanMaster
	visibility, _ := zanmaster.ParseVisibility(c.NotEnforcing) // the configuration allows no other word
	return zanmaster.Policy{
		NotEnforcing:   visibility,
		ServersPerAddr: unlessZero(c.ServersPerAddress),
		Timeout:        c.Timeout,
		MaxPending:     c.MaxPending,
		NoOldList:      !c.OldList,
		ListWindow:     unlessZero(c.ListWindow),
		ListsPerNet:    unlessZero(c.ListsPerNet),
		ListsTotal:     unlessZero(c.ListsTotal),
		AdvertiseAs:    c.AdvertiseAs,
		AllowServers:   c.AllowServers,
		AllowLaunchers: c.AllowLaunchers,
		Unproved:       netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.UnprovedRate), Burst: c.UnprovedBurst}),
		Trusted:        d.trusted(),
	}
}

// reloadZanMaster takes over the policy and reads the ban files. Lines that
// cannot be read are told; the others are in force.
func (d *daemon) reloadZanMaster(zan *zanmaster.Server) {
	zan.SetPolicy(d.zanPolicy())
	for _, err := range mistakesOf(zan.Reload()) {
		d.log.Warn().Err(err).Msg("line of a ban file not understood")
	}
}

func mistakesOf(err error) []error {
	if err == nil {
		return nil
	}
	return mistakes(err)
}

// checkBanFolder refuses a folder of ban files that was given and is not there:
// a ban list that is silently empty helps nobody.
func checkBanFolder(cfg *services.Config) error {
	if cfg.ZanMaster.BanFiles == "" {
		return nil
	}
	info, err := os.Stat(cfg.ZanMaster.BanFiles)
	if err == nil && !info.IsDir() {
		err = errors.New("is not a folder")
	}
	if err != nil {
		return fmt.Errorf("zanmaster.ban_files: %w", err)
	}
	return nil
}
