package utmaster

import (
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/views"
)

// viewKey is equal for requests that can share a list.
type viewKey struct {
	game   string
	form   form
	filter string // bytes of the request
	asker  advertise.Asker
}

// view is an encoded list at one moment. It is not changed.
type view struct{ views.Text }

// view returns the list for a request. text are the bytes of its filters.
func (s *Server) view(x *session, filters []Filter, text string) (*view, error) {
	for _, f := range filters {
		if !f.known() {
			s.opt.Metrics.Drop(droppedFilter.Error())
			s.metrics.views.Ignored.Inc()
			x.log.Debug().Str("key", clean.UTF8(f.Key)).Str("value", clean.UTF8(f.Value)).Uint8("operator", f.Op).Msg("filter not known, ignored")
		}
	}
	asker := s.opt.Addresses.Asker(x.conn.Peer().Addr())
	key := viewKey{x.game.Name, formOf(x.hello.Version, s.live.Load().XMPFlags), text, asker}
	if !s.opt.Registry.Varies(key.game) { // all askers get the same list
		key.asker = asker.Outside()
	}
	fresh := func(v *view) bool {
		return v.Held() || v.Serial == asker.In(s.opt.Registry).Serial(key.game)
	}
	return s.views.Get(key, fresh, func() (*view, error) {
		return s.views.InTurn(func() (*view, error) {
			start := time.Now()
			v := build(asker.In(s.opt.Registry), key, filters)
			v.Finish(start)
			s.metrics.views.Built(v.Took)
			return v, nil
		})
	})
}

// build encodes the present list.
func build(reg *master.Registry, key viewKey, filters []Filter) *view {
	servers, serial := reg.Snapshot(key.game, nil)
	v := &view{views.Text{Serial: serial, Bytes: make([]byte, listHeadSize, listHeadSize+64*len(servers))}}
	newest := 0
	for _, srv := range servers {
		newest = max(newest, versionOf(srv))
	}
	for _, srv := range servers {
		e, ok := entryOf(srv, key.asker, key.form, newest)
		if !ok || !match(filters, srv) {
			continue
		}
		v.Bytes = e.appendTo(v.Bytes, key.form)
		v.Rows++
	}
	appendListHead(v.Bytes[:0], v.Rows)
	return v
}

// rule returns a rule of a server; "" if it has none.
func rule(srv *master.Server, name string) string {
	value, _ := srv.Rules.Get(name)
	return value
}

// portOf reads a rule that is a port; 0: it is none.
func portOf(srv *master.Server, name string) uint16 {
	n, err := strconv.ParseUint(rule(srv, name), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// versionOf returns the version that a server reports; 0: none.
func versionOf(srv *master.Server) int {
	n, err := strconv.Atoi(rule(srv, ruleVersion))
	if err != nil {
		return 0
	}
	return n
}

// entryOf returns a server as an asker gets it. ok is false for servers that browsers
// of this protocol cannot join.
func entryOf(srv *master.Server, asker advertise.Asker, as form, newest int) (e Entry, ok bool) {
	at := asker.Given(srv.Public).Addr()
	game := portOf(srv, "hostport")
	if !at.Is4() || game == 0 || srv.SpeaksA2S() {
		return Entry{}, false
	}
	e = Entry{
		Addr: at, GamePort: game, QueryPort: portOf(srv, ruleQueryPort), Players: byteOf(srv.Population()),
		Name: cutText(rule(srv, "hostname"), maxListName), Map: cutText(rule(srv, "mapname"), maxListText),
		GameType: cutText(unqualified(rule(srv, "gametype")), maxListText), Skill: cutText(rule(srv, ruleSkill), maxListText),
	}
	if e.QueryPort == 0 {
		e.QueryPort = uint16(min(int(game)+queryDistance, 65535))
	}
	if n, ok := master.ParsePopulation(rule(srv, "maxplayers")); ok {
		e.Max = byteOf(n)
	}
	if as == formModern {
		e.Flags = flagsOf(srv, newest)
	} else {
		e.Flags = oldFlagsOf(srv, newest)
	}
	return e, true
}

func byteOf(n int) byte { return byte(min(max(n, 0), 255)) }

// unqualified returns a class without its package: xDeathMatch of XGame.xDeathMatch.
func unqualified(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

// mutatorsOf returns the mutators of a server without their packages. known is false
// if it does not report them.
func mutatorsOf(srv *master.Server) (list []string, known bool) {
	text, known := srv.Rules.Get(ruleMutators)
	for m := range strings.SplitSeq(text, ",") {
		if m = unqualified(strings.TrimSpace(m)); m != "" {
			list = append(list, m)
		}
	}
	return list, known
}
