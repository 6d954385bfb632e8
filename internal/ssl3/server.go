package ssl3

import (
	"crypto/rsa"
	"crypto/subtle"
	"io"
	"slices"
)

// serverStage is the next message that a server expects.
type serverStage int

const (
	awaitClientHello serverStage = iota
	awaitKeyExchange
	awaitClientChange
	awaitClientFinished
	serverDone
)

// server is the server's side of a handshake.
type server struct {
	state

	identity *Identity
	rand     io.Reader
	// permit, if not nil, is called before the premaster secret is decrypted, which
	// costs most of a handshake. An error ends the connection.
	permit func() error

	stage          serverStage
	hello          hello // of the client
	random, client [randomLen]byte
	premaster      [premasterLen]byte // random until it is replaced by the client's
}

func newServer(identity *Identity, rand io.Reader, permit func() error) *server {
	s := &server{identity: identity, rand: rand, permit: permit}
	s.role, s.old = s, true
	return s
}

// limit implements role.
func (s *server) limit(k kind) (least, most int, err error) {
	switch {
	case k == kindClientHello && s.stage == awaitClientHello:
		return 1, maxHello, nil
	case k == kindKeyExchange && s.stage == awaitKeyExchange:
		n := s.identity.key.Size() // without a length before it, unlike in later versions
		return n, n, nil
	case k == kindFinished && s.stage == awaitClientFinished:
		return finishedLen, finishedLen, nil
	}
	return 0, 0, unexpected()
}

// message implements role.
func (s *server) message(k kind, body, before []byte) error {
	switch k {
	case kindClientHello:
		return s.greet(body)
	case kindKeyExchange:
		return s.exchange(body)
	case kindFinished:
		return s.finish(body, before)
	case kindServerHello, kindCertificate, kindHelloDone:
	}
	return unexpected()
}

// greet answers a ClientHello. An identifier of an earlier session is ignored: there
// is no resumption.
func (s *server) greet(body []byte) error {
	return s.reply(parseClientHello(body))
}

// oldHello implements role. The rest of the handshake is that of SSL 3.0.
func (s *server) oldHello(body []byte) error {
	if s.stage != awaitClientHello || len(s.partial) > 0 {
		return unexpected()
	}
	return s.reply(parseOldHello(body))
}

// reply answers the hello of a client; ok reports that it is well-formed.
func (s *server) reply(h hello, ok bool) error {
	switch {
	case !ok:
		return violation(AlertIllegalParameter, "malformed hello")
	case h.version>>8 != version>>8:
		return violation(AlertHandshakeFailure, "the client does not offer SSL 3.0")
	case !slices.Contains(h.suites, suite) || !slices.Contains(h.compressions, noCompression):
		return violation(AlertHandshakeFailure, "the client does not offer TLS_RSA_WITH_RC4_128_MD5")
	}
	answer := hello{version: version, session: make([]byte, maxSession), suites: []uint16{suite}, compressions: []byte{noCompression}}
	for _, p := range [][]byte{s.random[:], answer.session, s.premaster[:]} {
		if _, err := io.ReadFull(s.rand, p); err != nil {
			return err
		}
	}
	answer.random = s.random
	s.hello, s.client = h, h.random

	flight := appendMessage(nil, kindServerHello, answer.appendServer(nil))
	flight = appendMessage(flight, kindCertificate, appendCertificate(nil, s.identity.certificate))
	s.send(appendMessage(flight, kindHelloDone, nil))
	s.stage = awaitKeyExchange
	return nil
}

// exchange decrypts the premaster secret. Whether its padding and its version are right
// must not be visible to the client, or it could decrypt the secrets of others: a wrong
// one is replaced by a random one, in constant time, and the handshake fails at the
// client's Finished message in any case.
func (s *server) exchange(ciphertext []byte) error {
	if s.permit != nil {
		if err := s.permit(); err != nil {
			return err
		}
	}
	_ = rsa.DecryptPKCS1v15SessionKey(nil, s.identity.key, ciphertext, s.premaster[:])
	s.premaster[0], s.premaster[1] = byte(s.hello.version>>8), byte(s.hello.version)
	s.secrets = newSecrets(s.premaster[:], s.client[:], s.random[:])
	s.stage = awaitClientChange
	return nil
}

// changed implements role.
func (s *server) changed() error {
	if s.stage != awaitClientChange {
		return unexpected()
	}
	s.in.protect(s.secrets.client())
	s.stage = awaitClientFinished
	return nil
}

// finish checks the client's Finished message and sends the own one.
func (s *server) finish(body, before []byte) error {
	if subtle.ConstantTimeCompare(body, finished(before, senderClient, s.secrets.master)) != 1 {
		return violation(AlertHandshakeFailure, "wrong Finished message")
	}
	own := finished(s.transcript, senderServer, s.secrets.master)
	s.change(s.secrets.server())
	s.send(appendMessage(nil, kindFinished, own))
	s.stage, s.open, s.premaster = serverDone, true, [premasterLen]byte{}
	return nil
}
