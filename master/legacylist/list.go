package legacylist

import (
	"crypto/rand"
	"strconv"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master/filter"
	"github.com/respawnd/respawnd/master/views"
)

const maxEnctype = 2

// enctypeOf reads the enctype of a request. Clients older than the field do not
// send it.
func enctypeOf(text string) (int, bool) {
	if text == "" {
		return 0, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n <= maxEnctype
}

// list answers a request. The error is an ended or comes from the connection.
func (x *session) list(r *inquiry) error {
	if len(r.games) > 0 {
		return x.share(r)
	}
	enctype, ok := enctypeOf(r.enctype)
	if !ok {
		return endedEnctype
	}
	x.server.metrics.client(enctype)
	game, known := x.server.opt.Games.Lookup(r.wanted())
	secret, err := x.validate(r, enctype, game)
	if err != nil {
		return err
	}
	if !known {
		x.server.metrics.list(listUnknown)
		return x.send(emptyView, r.mode, enctype, secret)
	}
	v, err := x.server.view(game, r, x.server.opt.Addresses.Asker(x.conn.Peer().Addr()))
	if err != nil {
		return err
	}
	if err := x.server.views.Begin(v); err != nil {
		return endedBusy
	}
	defer x.server.views.End(v)
	x.server.metrics.sent(v)
	return x.send(v, r.mode, enctype, secret)
}

// validate checks the answer to the greeting and returns the secret that it was
// made with. A wrong answer is accepted from clients without encryption, unless
// the wanted game forbids it, because tools send arbitrary text. Other clients
// could not decrypt the list without the right secret.
func (x *session) validate(r *inquiry, enctype int, wanted games.Game) (secret string, err error) {
	own, _ := x.server.opt.Games.Lookup(r.engine)
	secret, ok := gamespy.CheckValidate(enctype, own.Secrets, x.challenge, []byte(r.validate))
	x.server.metrics.validation(ok)
	switch {
	case ok || enctype == 0 && !wanted.Policy.StrictLegacyValidate.Or(x.server.opt.StrictValidate):
		return secret, nil
	case !own.Usable():
		return "", endedSecret
	}
	return "", endedValidation
}

// send writes a list in the form of the enctype.
func (x *session) send(v *view, mode Mode, enctype int, secret string) error {
	switch enctype {
	case 1:
		list := v.list(mode == Compact)
		var noise [gamespy.Enctype1Noise]byte
		_, _ = rand.Read(noise[:]) // never returns an error
		e, header := gamespy.NewEnctype1(x.challenge, len(list), &noise)
		return x.encode(header, list, e.Encode)
	case 2:
		var key [gamespy.Enctype2Key]byte
		_, _ = rand.Read(key[:])
		tree := gamespy.NewTreeCipher(key[:])
		return x.encode(gamespy.AppendEnctype2Header(nil, secret, key[:]), v.list(false), tree.XOR)
	}
	for list := v.list(false); len(list) > 0; {
		n := min(len(list), views.ChunkSize)
		if _, err := x.out.Write(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// encode writes header and, run through scramble piece by piece, list.
func (x *session) encode(header, list []byte, scramble func(dst, src []byte)) error {
	buf := x.server.chunks.Get()
	defer x.server.chunks.Put(buf)
	have := copy(buf[:], header)
	for {
		n := min(len(list), views.ChunkSize-have)
		scramble(buf[have:have+n], list[:n])
		if _, err := x.out.Write(buf[:have+n]); err != nil {
			return err
		}
		list, have = list[n:], 0
		if len(list) == 0 {
			return nil
		}
	}
}

// compile compiles a filter. An invalid one is ignored or refused, depending on
// the options; one that is too long is always refused.
func (s *Server) compile(text, game string) (*filter.Filter, error) {
	if len(text) > filter.MaxLength {
		return nil, endedFilter
	}
	f, err := filter.Compile(text)
	if err == nil {
		return f, nil
	}
	if !s.opt.LenientFilter {
		return nil, endedFilter
	}
	s.metrics.views.Ignored.Inc()
	s.ignored.Ignored(s.opt.Log, game, text, err)
	return new(filter.Filter), nil
}
