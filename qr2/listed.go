package qr2

import (
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// keepalive records a sign of life. One from an unknown host is not answered;
// its next heartbeat comes within a minute.
func (s *Server) keepalive(w netserve.PacketWriter, p netserve.Packet, key master.Key) uplink.Drop {
	if !s.list.Touch(key, Origin, s.recently()) {
		return s.restoredKeepalive(w, p, key)
	}
	s.metrics.received.keepalive.Inc()
	s.reply(w, p, KindKeepalive, key.Instance)
	return uplink.NotDropped
}

// own returns the record of a host that is listed by this protocol. The sources
// and instance keys of other origins are easily forged, so their records belong
// to other services.
func (s *Server) own(key master.Key) (*master.Server, bool) {
	srv, ok := s.list.Get(key)
	if !ok || srv.Origin != Origin {
		return nil, false
	}
	return srv, true
}

// heartbeat refreshes a listed server or starts the verification of a new one.
func (s *Server) heartbeat(w netserve.PacketWriter, p netserve.Packet, key master.Key) uplink.Drop {
	s.metrics.received.heartbeat.Inc()
	old, listed := s.own(key)
	if listed && !old.Restored {
		if done, dropped := s.refresh(w, p, old); done {
			return dropped
		}
	}
	return s.introduce(w, p, key, listed)
}

// refresh takes a heartbeat of a listed server. done is false if it has to be
// verified again.
func (s *Server) refresh(w netserve.PacketWriter, p netserve.Packet, old *master.Server) (done bool, dropped uplink.Drop) {
	now := s.recently()
	f, err := peek(p.Data)
	if err != nil {
		s.list.Touch(old.Key, Origin, now)
		s.note(old.Key.Source, old.Game, verdicts.Malformed)
		return true, uplink.Malformed
	}
	if string(f.game) != old.Game {
		if g, ok := s.opt.Games.LookupBytes(f.game); !ok || g.Name != old.Game {
			return false, uplink.NotDropped
		}
	}
	switch f.state {
	case stateLeaving:
		s.leave(old.Key, old.Game)
		return true, uplink.NotDropped
	case stateStarting:
		// It has received nothing from us yet, or has lost its state: it is challenged
		// again, but it stays listed meanwhile.
		s.update(&f, p, old, now)
		return false, uplink.NotDropped
	case statePeriodic, stateChanged:
	}
	s.update(&f, p, old, now)
	return true, uplink.NotDropped
}

// update replaces the record if the report has changed.
func (s *Server) update(f *fixed, p netserve.Packet, old *master.Server, now time.Time) {
	sections := p.Data[header:]
	if f.hasState {
		buf := s.texts.Get().(*[]byte)
		defer s.texts.Put(buf)
		*buf = f.appendStateless((*buf)[:0], sections)
		sections = *buf
	}
	text := s.source.Text(sections)
	if old.Via == p.To && s.source.Same(old, text) {
		s.list.Touch(old.Key, Origin, now)
		return
	}
	next := s.source.Next(old, text)
	next.Via, next.NATNeg, next.Local, next.Seen = p.To, f.natNeg, f.local(old.Key.Source.Addr(), old.Local), now
	s.list.Update(next) // unless it was removed meanwhile
}

// leave takes a server off the list at its own wish.
func (s *Server) leave(key master.Key, game string) {
	if s.list.Remove(key) {
		s.note(key.Source, game, verdicts.Left)
	}
	s.mu.Lock()
	s.pending.Remove(key)
	s.messages.forget(key)
	s.mu.Unlock()
}

// recently is a time within about the last tick: precise enough for the last
// sign of life of a server, and cheaper than time.Now.
func (s *Server) recently() time.Time {
	if t := s.clock.Load(); t != nil {
		return *t
	}
	return time.Now()
}
