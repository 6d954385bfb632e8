package ssq

import (
	"bytes"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/netserve"
	wire "github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// Queries that get no answer get a verdict.
func TestUnansweredQueries(t *testing.T) {
	one := wire.Header{ID: 1, Count: 1}
	for name, test := range map[string]struct {
		packet []byte
		want   verdicts.Verdict
	}{
		"no header":            {[]byte("x"), verdicts.MalformedRequest},
		"no query":             {one.AppendTo(nil), verdicts.MalformedRequest},
		"no such verb":         {append(one.AppendTo(nil), "DROP\x00"...), verdicts.MalformedRequest},
		"shorter than a token": {append(one.AppendTo(nil), "VERSION"...), verdicts.MalformedRequest},
		"too long":             {bytes.Repeat([]byte("x"), wire.HeaderLen+wire.MaxQuery+1), verdicts.TooLong},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			opt := f.server.opt
			opt.Registerer, opt.Players = nil, verdicts.NewLog(zerolog.Nop(), 0)
			New(opt).ServePacket(f, netserve.Packet{Data: test.packet, From: stranger})
			if got := opt.Players.Of(stranger.Addr()); len(got) != 1 || got[0].Verdict != test.want || got[0].Service != serviceName {
				t.Errorf("noted %+v, want %v", got, test.want)
			}
		})
	}
}
