package probe

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// tick begins the visits that are due, and repeats or gives up questions.
func (p *Prober) tick(now time.Time) {
	p.mu.Lock()
	w := p.conn
	if w == nil {
		p.mu.Unlock()
		return
	}
	if !now.Before(p.lookAt) {
		p.lookAt = now.Add(followEvery)
		p.follow(now)
		p.kept.sweep(now)
	}
	for t := p.table.queue.first(); t != nil && !t.due.After(now); t = p.table.queue.first() {
		if !p.turn(t, now) {
			break
		}
	}
	out := p.out
	p.out = nil
	p.mu.Unlock()
	p.send(w, out)
}

// turn begins or continues the visit of a due target. It returns false if no
// more visits may begin now. p.mu is held.
func (p *Prober) turn(t *target, now time.Time) (goOn bool) {
	switch {
	case t.visit != nil:
		data, over, err := t.visit.look(now)
		p.proceed(t, data, over, err, now)
	case !t.wanted():
		p.table.forget(t)
	case t.owner == nil && p.bans(t.addr.Addr()):
		p.banned(t)
		p.table.queue.at(t, now.Add(p.every(t)))
	case p.table.open[t.addr.Addr()] >= perHost:
		p.table.queue.at(t, now.Add(hostPause))
	case p.table.visits >= p.maxOpen || !p.rate.AllowN(now, 1):
		return false
	default:
		p.visit(t, newTalk(t.protocol(), !now.Before(t.rulesDue)), t.protocol(), now)
	}
	return true
}

// visit begins a visit. p.mu is held.
func (p *Prober) visit(t *target, with talk, protocol Protocol, now time.Time) {
	v := newVisit(with, protocol, now)
	p.table.begin(t, v)
	t.asked = now
	p.proceed(t, v.ask(now), false, nil, now)
}

// proceed continues with a visit, or ends it. p.mu is held.
func (p *Prober) proceed(t *target, data []byte, over bool, err error, now time.Time) {
	if !over {
		if data != nil {
			p.out = append(p.out, packet{t.via, t.addr, data, t.visit.protocol.stream()})
		}
		p.table.queue.at(t, t.visit.again)
		return
	}
	v := t.visit
	p.table.end(t)
	t.denied = denies(err)
	var st query.Status
	result := resultAnswered
	switch {
	case err == nil:
		st = v.talk.status()
		t.silent, t.answered = 0, true
		p.learn(t, v.talk, &st, now)
	case t.denied:
		result = resultDenied
		t.silent = 0
		p.answered(t, now)
		p.noteNamed(t, denial(err))
	case errors.Is(err, ErrTooMuch):
		result = resultTooMuch
		p.missed(t, verdicts.TooLong)
	default:
		result = resultSilent
		p.missed(t, unanswered(t.claims[master.ClaimNamed].protocol))
	}
	p.metrics.visits.WithLabelValues(v.protocol.String(), result).Inc()
	if t.wait != nil {
		t.wait.finish(st, err)
		t.wait = nil
		if err == nil {
			p.kept.put(t.addr, st, now)
		}
	}
	p.table.queue.at(t, now.Add(p.pause(t)))
}

// every returns the time between two visits to a target that answers. p.mu is
// held.
func (p *Prober) every(t *target) time.Duration {
	switch {
	case t.owner != nil:
		return t.owner.every
	case t.protocol() == 0: // kept, so that it is not queried too often
		return ZandronumLeast
	default:
		return max(p.config.Every, t.protocol().least())
	}
}

// pause returns the time between two visits to a target: longer if it is
// silent, and up to a tenth more, so that visits do not stay in step. p.mu is
// held.
func (p *Prober) pause(t *target) time.Duration {
	d := p.every(t)
	if t.wanted() && t.listed == "" && t.owner == nil {
		for range min(t.silent, 16) {
			d *= 2
		}
		d = min(d, max(maxInterval, p.every(t)))
	}
	return d + rand.N(d/10+1) // it spreads load
}

// missed records that a target did not answer, or that its answer was wrong. why is the verdict that is
// noted if an operator named the target. p.mu is held.
func (p *Prober) missed(t *target, why verdicts.Verdict) {
	t.silent++
	t.answered = false
	p.noteNamed(t, why)
	if t.silent < maxSilent {
		return
	}
	if t.owner != nil {
		if srv, ok := p.opt.Registry.Get(t.follow); ok && srv.Findings.Reached != master.ReachedNo {
			p.opt.Registry.Report(t.follow, master.Findings{Reached: master.ReachedNo})
		}
		return
	}
	p.unlist(t, verdicts.Expired)
	for at := range master.ClaimNamed {
		p.table.set(t, at, claim{})
	}
}

// bans reports whether an address must not be listed.
func (p *Prober) bans(a netip.Addr) bool { return p.opt.Banned.Has(a) }

// banned records that the address of a target is banned. p.mu is held.
func (p *Prober) banned(t *target) {
	p.unlist(t, verdicts.Banned)
	if c, ok := t.strongest(); ok && (!t.noted || t.verdict != verdicts.Banned) {
		p.note(t, c.game, verdicts.Banned)
	}
}

// note notes a verdict about a target. p.mu is held.
func (p *Prober) note(t *target, game string, v verdicts.Verdict) {
	t.noted, t.verdict = true, v
	p.opt.Verdicts.Note(serviceName, t.addr, game, v)
}

// noteNamed notes the reason for which a server that an operator named is not
// in the list. p.mu is held.
func (p *Prober) noteNamed(t *target, v verdicts.Verdict) {
	if c := t.claims[master.ClaimNamed]; c.named() && t.listed == "" && t.owner == nil {
		p.note(t, c.game, v)
	}
}

// denial returns the verdict about a server that denied the query.
func denial(err error) verdicts.Verdict {
	switch {
	case errors.Is(err, ErrBanned):
		return verdicts.BansUs
	case errors.Is(err, ErrTooSoon):
		return verdicts.AskedTooSoon
	default:
		return verdicts.KeepsQuiet
	}
}

// unanswered returns the verdict about a server that does not answer.
func unanswered(p Protocol) verdicts.Verdict {
	if p == A2S {
		return verdicts.Unanswered
	}
	return verdicts.NoAnswer
}

// ServePacket handles a packet of an answer. Packets from servers that were not
// queried are dropped.
func (p *Prober) ServePacket(w netserve.PacketWriter, pk netserve.Packet) { p.take(w, pk, false) }

// take handles a packet, or the message of a stream, and reports whether its visit continues.
func (p *Prober) take(w netserve.PacketWriter, pk netserve.Packet, stream bool) (more bool) {
	var few [1]packet
	p.mu.Lock()
	t := p.table.targets[pk.From]
	if t == nil || t.visit == nil || t.visit.protocol.stream() != stream {
		p.mu.Unlock()
		p.opt.Metrics.Drop(dropUnexpected)
		return false
	}
	now := time.Now()
	data, over, useless, err := t.visit.take(pk.Data, now)
	p.proceed(t, data, over, err, now)
	out := append(few[:0], p.out...) // out is empty whenever the lock is free
	p.out = p.out[:0]
	p.mu.Unlock()
	switch {
	case errors.Is(err, ErrTooMuch):
		p.opt.Metrics.Drop(dropTooMuch)
	case useless:
		p.opt.Metrics.Drop(dropUseless)
	}
	p.send(w, out)
	return !over
}

// The reasons for which packets are dropped.
const (
	dropUnexpected = "unexpected"
	dropUseless    = "useless"
	dropTooMuch    = "too_much"
)

// DropReasons lists the reasons that Options.Metrics counts drops under.
func DropReasons() []string { return []string{dropUnexpected, dropUseless, dropTooMuch} }
