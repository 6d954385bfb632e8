package theater

import (
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/storage"
)

// The words of errors.
const (
	noGame   = "ngam"
	noLobby  = "nrom"
	noPlayer = "ntfn"
	badValue = "bpar"
	inQueue  = "queu" // not an error: the player waits for a place
)

// refusedReason goes with a refusal of the server, as in the one that was seen.
const refusedReason = "-602"

// Results of joins, for metrics.
const (
	joinAsked    = "asked"
	joinAllowed  = "allowed"
	joinRefused  = "refused"
	joinSilent   = "silent"
	joinEntered  = "entered"
	joinCanceled = "canceled"
	joinQueued   = "queued"
)

// found returns the game that a request names: by its number, 0 for any, or by a player. why is the
// error if there is none that the client may see.
func (x *session) found(r *request) (g *game, why string) {
	who, id := x.named(r), r.Get("GID")
	far := x.server.elsewhere(x.player.Client, r)
	switch {
	case number(id) > 0:
		g = x.server.game(number(id))
	case who != nil && who.hosts != nil:
		g = who.hosts
	case who != nil && who.seat != nil:
		g = who.seat.game
	case far != nil:
		g = far
	case who != nil || id == "":
		return nil, noPlayer
	default:
		for g := range x.visible(func(g *game) bool { return g.free() > 0 }) {
			return g, ""
		}
	}
	if g == nil || g.host != x && !x.sees(g) {
		return nil, noGame
	}
	return g, ""
}

// named returns the player that a request names, nil if there is none.
func (x *session) named(r *request) *session {
	if uid := number(r.Get("UID")); uid > 0 {
		return x.server.players[storage.ProfileID(uid)]
	}
	if name := r.Get("USER"); name != "" {
		for _, p := range x.server.players {
			if p.player.Client == x.player.Client && storage.Fold(p.player.Name) == storage.Fold(name) {
				return p
			}
		}
	}
	return nil
}

// join asks the host of a game to let the client in. A player is in one game at a time.
func (x *session) join(r *request) {
	g, why := x.found(r)
	if g == nil {
		x.refuse(r.Service, r.id(), why)
		return
	}
	if g.node != "" {
		x.joinFar(r, g)
		return
	}
	own := x.hosts == g
	if own && x.seat != nil {
		x.seat.leave()
	}
	if own || x.hosts == nil {
		x.abandon()
	}
	in, free := inside(r.Get("R-INT-IP"), r.Get("R-INT-PORT"), x.peer.Addr()), g.free()
	at := g.host.given(x.at(r.Get("PORT")))
	s := &seat{game: g, who: x, uid: x.uid(), name: x.player.Name, ticket: newTicket(), tid: r.id(), facts: []string{
		"PTYPE", r.Get("PTYPE"), "IP", at.Addr().String(), "PORT", strconv.Itoa(int(at.Port())),
		"R-INT-IP", in.Addr().String(), "R-INT-PORT", strconv.Itoa(int(in.Port())),
	}}
	switch {
	case !s.values.take(r.Text, "R-U-"):
		x.refuse(r.Service, r.id(), badValue)
	case x.hosts != nil && !own, free == 0 && len(g.queue) >= g.places():
		x.server.metrics.joins.WithLabelValues(joinRefused).Inc()
		x.reply("EGAM", r.id(), append(g.ids(), "ALLOWED", "0", "REASON", refusedReason)...)
	case free == 0 || len(g.queue) > 0 && !own:
		g.queue, x.seat = append(g.queue, s), s
		x.server.metrics.joins.WithLabelValues(joinQueued).Inc()
		x.send(wire.Failure("EGAM", inQueue), lines(append([]string{"TID", s.tid}, append(g.ids(),
			"QPOS", strconv.Itoa(len(g.queue)), "QLEN", strconv.Itoa(g.places()))...)...))
		x.server.share(g)
	default:
		s.place(free, r.now)
		x.reply("EGAM", r.id(), g.ids()...)
		s.ask("EGRQ")
	}
}

// place gives the player a place, about which the host must be asked.
func (s *seat) place(pid int, now time.Time) {
	s.pid, s.state, s.by = pid, asked, now.Add(answerTime)
	s.game.seats[pid], s.who.seat = s, s
	s.who.server.metrics.joins.WithLabelValues(joinAsked).Inc()
}

// ask asks the host, with a word, whether the player may have its place.
func (s *seat) ask(word string) {
	lines := append(s.game.ids(), "PID", strconv.Itoa(s.pid), "UID", s.uid, "NAME", s.name, "R-USER", s.name, "TICKET", s.ticket)
	s.game.host.tell(word, append(append(lines, s.facts...), pairs(s.values.Text)...)...)
}

// advance asks the host about those who wait, while there are places.
func (g *game) advance(now time.Time) {
	for pid := g.free(); pid != 0 && len(g.queue) > 0; pid = g.free() {
		next := g.queue[0]
		g.queue = g.queue[1:]
		next.place(pid, now)
		next.ask("QENT")
		g.host.server.share(g)
	}
}

// ids are the lines that name a game.
func (g *game) ids() []string { return []string{"LID", lobbyID, "GID", strconv.Itoa(g.id)} }

// decide takes the decision of the host on a player.
func (x *session) decide(r *request, s *seat) {
	if s.state != asked {
		x.server.opt.Metrics.Drop(droppedNotSeated.Error())
		return
	}
	x.reply("EGRS", r.id())
	if r.Get("ALLOWED") != "1" {
		x.server.turnAway(s, r.Get("REASON"), joinRefused)
		return
	}
	x.server.metrics.joins.WithLabelValues(joinAllowed).Inc()
	s.state, s.by = allowed, r.now.Add(enterTime)
	g := s.game
	at := s.who.given(g.at())
	s.who.reply("EGEG", s.tid, append(g.ids(), "PL", platform(s.who.player.Client), "TICKET", s.ticket, "PID", strconv.Itoa(s.pid),
		"I", at.Addr().String(), "P", strconv.Itoa(int(at.Port())), "HUID", x.uid(), "INT-IP", g.intern.Addr().String(),
		"INT-PORT", strconv.Itoa(int(g.intern.Port())), "EKEY", g.key, "UGID", g.identity)...)
}

// turnAway ends the join of a player about whom the host was asked.
func (s *Server) turnAway(at *seat, reason, result string) {
	s.metrics.joins.WithLabelValues(result).Inc()
	who := at.who
	at.leave()
	who.reply("EGAM", at.tid, append(at.game.ids(), "ALLOWED", "0", "REASON", reason)...)
}

// entered notes that the host has a player.
func (x *session) entered(r *request, s *seat) {
	if s.state != entered {
		x.server.metrics.joins.WithLabelValues(joinEntered).Inc()
	}
	s.state, s.game.open = entered, true
	x.reply("PENT", r.id(), "PID", strconv.Itoa(s.pid))
	x.server.publish(s.game, r.now)
}

// left notes that the host no longer has a player.
func (x *session) left(r *request, s *seat) {
	s.leave()
	x.reply("PLVT", r.id())
	x.server.publish(s.game, r.now)
	s.game.advance(r.now)
}

// updatePlayer takes values of a player.
func (x *session) updatePlayer(r *request, s *seat) {
	if !s.values.take(r.Text, "P-") {
		x.server.opt.Metrics.Drop(droppedTooMuch.Error())
	}
	x.reply("UPLA", r.id())
}

// cancel ends the client's own join.
func (x *session) cancel(r *request) {
	x.server.metrics.joins.WithLabelValues(joinCanceled).Inc()
	x.abandon()
	x.reply("ECNL", r.id(), "LID", lobbyID, "GID", r.Get("GID"))
}

// abandon ends the part of the client in its game. A host that has the player, or may have, says
// when it has left.
func (x *session) abandon() {
	x.away.leave(false)
	s := x.seat
	if s == nil {
		return
	}
	if s.state == asked || s.state == queued {
		s.leave()
	}
	x.seat, s.who = nil, nil
}

// expel tells the host of the client's game to remove the client.
func (x *session) expel() {
	x.away.leave(true)
	if s := x.seat; s != nil && (s.state == allowed || s.state == entered) && s.game.host != x {
		s.game.host.tell("KICK", append(s.game.ids(), "PID", strconv.Itoa(s.pid))...)
	}
}

// expire ends the joins whose time is over, and lets others have their places.
func (s *Server) expire(g *game, now time.Time) {
	for _, at := range g.seats {
		switch {
		case at.state == entered || now.Before(at.by):
		case at.state == asked:
			s.turnAway(at, refusedReason, joinSilent)
		default:
			at.leave()
		}
	}
	g.advance(now)
}

// platform returns the platform in the name of a client.
func platform(client string) string {
	_, word, _ := strings.Cut(client, "-")
	if word = word[strings.LastIndexByte(word, '-')+1:]; word == "pc" {
		return "PC"
	}
	return word
}

// search implements lobby.Search.
func (s *Server) search(client string, where []lobby.Condition, most int) (list []lobby.Found) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.games {
		if len(list) == most {
			break
		}
		meets := func(g *game) bool {
			for _, c := range where {
				if !g.meets(c) {
					return false
				}
			}
			return true
		}
		if g.host.player.Client == client && g.free() > 0 && s.shows(g, false) && meets(g) {
			list = append(list, lobby.Found{Lobby: number(lobbyID), Game: g.id})
		}
	}
	return list
}
