package natneg

import (
	"context"
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netclient"
)

// Peer is one of two players that negotiate, both without a NAT. It repeats
// nothing; package natnegtest has a player that does, behind NATs.
type Peer struct {
	*netclient.Packets

	Version byte // of the protocol, 1 to 4
	Cookie  uint32
	Index   byte // 0 or 1
	Game    string

	out []byte
}

// ErrNoPartner reports that the negotiation ended without a partner.
var ErrNoPartner = errors.New("the master knows no partner")

// Announce sends the inits of the player.
func (p *Peer) Announce() error {
	local := p.Local()
	for _, port := range []PortType{PortNN1, PortNN2, PortNN3} {
		i := Init{PortType: port, Index: p.Index, Local: local, Game: []byte(p.Game)}
		if err := p.send(i.AppendTo(p.header(TypeInit), p.Version)); err != nil {
			return err
		}
	}
	return nil
}

// Partner waits for the address of the other player and confirms it. The error is
// ErrNoPartner if the master gives up.
func (p *Peer) Partner(ctx context.Context) (netip.AddrPort, error) {
	body, err := p.await(ctx, TypeConnect)
	if err != nil {
		return netip.AddrPort{}, err
	}
	c, ok := ParseConnect(body)
	if !ok || c.Finished != FinishedOK {
		return netip.AddrPort{}, ErrNoPartner
	}
	return c.Remote, p.send(Ack{Index: p.Index}.AppendTo(p.header(TypeConnectAck), p.Version))
}

// Report reports that the two players have met and waits for the confirmation.
func (p *Peer) Report(ctx context.Context) error { return p.report(ctx, true) }

// Fail reports that the two players could not meet and waits for the confirmation.
func (p *Peer) Fail(ctx context.Context) error { return p.report(ctx, false) }

func (p *Peer) report(ctx context.Context, met bool) error {
	if err := p.send(Report{Index: p.Index, Result: boolByte(met)}.AppendTo(p.header(TypeReport))); err != nil {
		return err
	}
	_, err := p.await(ctx, TypeReportAck)
	return err
}

func (p *Peer) header(t Type) []byte {
	return Header{Version: p.Version, Type: t, Cookie: p.Cookie}.AppendTo(p.out[:0])
}

func (p *Peer) send(b []byte) error {
	p.out = b
	return p.Send(b)
}

// await waits for a packet of a type and returns its body.
func (p *Peer) await(ctx context.Context, t Type) (body []byte, err error) {
	err = p.Await(ctx, func(b []byte, _ netip.AddrPort) (bool, error) {
		h, rest, err := ParseHeader(b)
		body = rest
		return err == nil && h.Type == t && h.Cookie == p.Cookie, nil
	})
	return body, err
}

// AskAddress asks under which address the service sees a client, by a check of
// negotiation port 1.
func AskAddress(ctx context.Context, p *netclient.Packets) (seen netip.AddrPort, err error) {
	const version = 3
	request := Header{Version: version, Type: TypeAddressCheck}.AppendTo(nil)
	if err := p.Send(Check{Test{PortType: PortNN1}}.AppendTo(request)); err != nil {
		return seen, err
	}
	err = p.Await(ctx, func(b []byte, _ netip.AddrPort) (bool, error) {
		h, body, err := ParseHeader(b)
		if err != nil || h.Type != TypeAddressReply {
			return false, nil
		}
		r, ok := ParseAddressReply(body)
		seen = r.Seen
		return ok, nil
	})
	return seen, err
}
