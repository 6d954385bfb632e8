package fesl

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/ascii"
)

// messengerPort is that of a service of EA that is not here. A client does not open it before a
// game needs it.
const messengerPort = 13505

// theaterOffset is the distance from the port of this service to that of Theater at EA, which stands for
// one that is not here.
const theaterOffset = 5

// The domains of games, of which those of the PS3 name theirs as their sku.
const (
	eagames = "eagames"
	ps3     = "ps3"
)

// hello is the first request. A client that is signed in keeps its game.
func (x *session) hello(_ context.Context, r *request, answer *wire.Text) error {
	if x.life.stage < stageAccount {
		x.title, x.version, x.domain = titleOf(r.Get("clientString")), r.Get("clientVersion"), eagames
		if sku := r.Get("sku"); ascii.EqualFold(sku, ps3) {
			x.domain = ps3
		}
	}
	if n, err := strconv.Atoi(r.Get("fragmentSize")); err == nil {
		x.fragment = n
	}
	host := x.local.Addr().String()
	answer.Add("domainPartition.domain", x.domain)
	answer.Add("domainPartition.subDomain", x.title.subDomain)
	answer.Add("messengerIp", host)
	answer.AddNumber("messengerPort", messengerPort)
	answer.AddNumber("activityTimeoutSecs", 0)
	answer.Add("curTime", wire.Time(time.Now()))
	answer.Add("theaterIp", host)
	answer.AddNumber("theaterPort", int64(cmp.Or(x.server.opt.Lobby.Port(), x.local.Port()+theaterOffset)))
	return nil
}

// ask appends a message of the server that the client answers.
func (x *session) ask(what event, now time.Time) {
	t := wire.Text{{Key: "TXN", Value: "Ping"}}
	if what == memCheck {
		t = wire.Text{{Key: "TXN", Value: "MemCheck"}, {Key: "memcheck.[]", Value: "0"}, {Key: "type", Value: "0"}}
		t.AddNumber("salt", now.Unix())
	}
	x.send(wire.Header{Service: "fsys", Kind: wire.Reply}, t)
}

// farewell appends the message that tells the player why the connection ends.
func (x *session) farewell(reason, text string) {
	if x.life.stage == stageNew {
		return
	}
	x.send(wire.Header{Service: "fsys", Kind: wire.Reply}, wire.Text{{Key: "TXN", Value: "Goodbye"}, {Key: "reason", Value: reason}, {Key: "message", Value: text}})
}

// pingSites names this machine, by which a game measures how far it is.
func (x *session) pingSites(_ context.Context, _ *request, answer *wire.Text) error {
	answer.AddNumber("minPingSitesToPing", 0)
	answer.AddNumber("pingSite.[]", 1)
	answer.Add("pingSite.0.addr", x.local.Addr().String())
	answer.Add("pingSite.0.name", "gva")
	answer.AddNumber("pingSite.0.type", 0)
	return nil
}

// goodbye ends the connection.
func goodbye(context.Context, *request, *wire.Text) error { return errGoodbye }
