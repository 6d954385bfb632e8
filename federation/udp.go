package federation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/q3master"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/zanmaster"
)

// udp opens a socket to the master and calls ask, again if there is no answer.
func udp(ctx context.Context, s *source, d *dialer, ask func(context.Context, *netclient.Packets) ([]netip.AddrPort, error)) ([]netip.AddrPort, error) {
	p, err := d.udp(ctx, &s.master)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	for try := 1; ; try++ {
		list, err := ask(netclient.Bound(ctx, udpTimeout), p)
		t, timed := errors.AsType[net.Error](err)
		if len(list) > 0 || try == udpTries || ctx.Err() != nil || !timed || !t.Timeout() {
			if timed && t.Timeout() {
				err = fmt.Errorf("no whole answer within %v", udpTimeout)
			}
			return list, err
		}
	}
}

// readZandronum reads the list for launchers.
func readZandronum(ctx context.Context, s *source, d *dialer, most int) error {
	list, err := udp(ctx, s, d, func(ctx context.Context, p *netclient.Packets) ([]netip.AddrPort, error) {
		l := zanmaster.Launcher{Packets: p, Max: most}
		return l.List(ctx)
	})
	return tellAll(s, list, "zandronum", "", err)
}

// readValve reads the pages of a list in Valve's form.
func readValve(ctx context.Context, s *source, d *dialer, most int) error {
	p, err := d.udp(ctx, &s.master)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	b := valvemaster.Browser{Packets: p, Retry: pageRetry, Max: most}
	list, err := b.List(ctx, s.master.Filter, most)
	return tellAll(s, list, "a2s", "", err)
}

// parser parses the packets of a list, as netclient.List does.
type parser func([]netip.AddrPort, []byte) ([]netip.AddrPort, netclient.Part, error)

// readPackets reads a list of packets.
func readPackets(ctx context.Context, s *source, d *dialer, most int, request []byte, parse parser, query, game string) error {
	l := netclient.List{Parse: parse, Max: most, Linger: lingerFor}
	list, err := udp(ctx, s, d, func(ctx context.Context, p *netclient.Packets) ([]netip.AddrPort, error) {
		return l.Read(ctx, p, request)
	})
	return tellAll(s, list, query, game, err)
}

// readQuake3 reads the list of a game and protocol.
func readQuake3(ctx context.Context, s *source, d *dialer, most int) error {
	r := quake3.Request{Game: []byte(s.master.Game), Protocol: s.master.Number, Empty: true, Full: true}
	return readPackets(ctx, s, d, most, r.AppendTo(nil), q3master.ListPackets(false, nil), "quake3", "")
}

// readCod reads the list of a protocol of Call of Duty. Its servers do not name their game.
func readCod(ctx context.Context, s *source, d *dialer, most int) error {
	r := quake3.Request{Protocol: s.master.Number, Empty: true, Full: true}
	return readPackets(ctx, s, d, most, r.AppendTo(nil), q3master.ListPackets(false, quake3.ParseCodList), "quake3", s.master.Game)
}

// readIDTech4 reads the list of a protocol of Doom 3's engine.
func readIDTech4(ctx context.Context, s *source, d *dialer, most int) error {
	r := idtech4.Request{Protocol: idtech4.Protocol(s.master.Number)}
	return readPackets(ctx, s, d, most, r.AppendTo(nil), func(list []netip.AddrPort, p []byte) ([]netip.AddrPort, netclient.Part, error) {
		kind, rest, _ := idtech4.Cut(p)
		if kind != idtech4.KindServers {
			return list, netclient.NoPart, nil
		}
		list, err := idtech4.ParseList(list, rest)
		return list, netclient.SomePart, err
	}, "idtech4", s.master.Game)
}

// readQuake2 reads the list of a master of Quake 2's family.
func readQuake2(ctx context.Context, s *source, d *dialer, most int) error {
	return readPackets(ctx, s, d, most, quake2.AppendQuery(nil), partsOf(quake2.ParseList), "quake2", s.master.Game)
}

// readQuakeWorld reads the list of a master of QuakeWorld.
func readQuakeWorld(ctx context.Context, s *source, d *dialer, most int) error {
	return readPackets(ctx, s, d, most, []byte(quake2.AskWorld), partsOf(quake2.ParseWorldList), "quakeworld", s.master.Game)
}

// partsOf returns a parser of lists without end marks.
func partsOf(parse func([]netip.AddrPort, []byte) ([]netip.AddrPort, bool, error)) parser {
	return func(list []netip.AddrPort, p []byte) ([]netip.AddrPort, netclient.Part, error) {
		list, ok, err := parse(list, p)
		if !ok {
			return list, netclient.NoPart, nil
		}
		return list, netclient.SomePart, err
	}
}
