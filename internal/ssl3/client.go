package ssl3

import (
	"crypto/rsa"
	"crypto/subtle"
	"crypto/x509"
	"io"
)

// clientStage is the next message that a client expects.
type clientStage int

const (
	awaitServerHello clientStage = iota
	awaitCertificate
	awaitHelloDone
	awaitServerChange
	awaitServerFinished
	clientDone
)

// client is the client's side of a handshake, for tests and the self-test. Like the
// games it checks no certificate.
type client struct {
	state

	rand           io.Reader
	stage          clientStage
	random, server [randomLen]byte
	key            *rsa.PublicKey
	expected       []byte // the server's Finished message
}

// newClient returns a client whose flight is the first message.
func newClient(rand io.Reader) (*client, error) {
	c := &client{rand: rand}
	c.role = c
	if _, err := io.ReadFull(rand, c.random[:]); err != nil {
		return nil, err
	}
	h := hello{version: version, random: c.random, suites: []uint16{suite}, compressions: []byte{noCompression}}
	c.send(appendMessage(nil, kindClientHello, h.appendClient(nil)))
	return c, nil
}

// limit implements role.
func (c *client) limit(k kind) (least, most int, err error) {
	switch {
	case k == kindServerHello && c.stage == awaitServerHello:
		return 1, maxHello, nil
	case k == kindCertificate && c.stage == awaitCertificate:
		return 1, maxCertificate, nil
	case k == kindHelloDone && c.stage == awaitHelloDone:
		return 0, 0, nil
	case k == kindFinished && c.stage == awaitServerFinished:
		return finishedLen, finishedLen, nil
	}
	return 0, 0, unexpected()
}

// message implements role.
func (c *client) message(k kind, body, _ []byte) error {
	switch k {
	case kindServerHello:
		return c.greeted(body)
	case kindCertificate:
		return c.certified(body)
	case kindHelloDone:
		return c.exchange()
	case kindFinished:
		if subtle.ConstantTimeCompare(body, c.expected) != 1 {
			return violation(AlertHandshakeFailure, "wrong Finished message")
		}
		c.stage, c.open = clientDone, true
		return nil
	case kindClientHello, kindKeyExchange:
	}
	return unexpected()
}

func (c *client) greeted(body []byte) error {
	h, ok := parseServerHello(body)
	if !ok || h.version != version || h.suites[0] != suite || h.compressions[0] != noCompression {
		return violation(AlertIllegalParameter, "malformed hello")
	}
	c.server, c.stage = h.random, awaitCertificate
	return nil
}

// certified takes the key of the server's certificate.
func (c *client) certified(body []byte) error {
	der, ok := parseCertificate(body)
	if !ok {
		return violation(AlertIllegalParameter, "malformed certificate")
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return violation(AlertIllegalParameter, "malformed certificate")
	}
	c.key, ok = cert.PublicKey.(*rsa.PublicKey)
	if !ok {
		return violation(AlertIllegalParameter, "certificate without an RSA key")
	}
	c.stage = awaitHelloDone
	return nil
}

// exchange sends the premaster secret and the Finished message.
func (c *client) exchange() error {
	var premaster [premasterLen]byte
	if _, err := io.ReadFull(c.rand, premaster[2:]); err != nil {
		return err
	}
	premaster[0], premaster[1] = version>>8, version&0xff
	ciphertext, err := rsa.EncryptPKCS1v15(c.rand, c.key, premaster[:])
	if err != nil {
		return violation(AlertIllegalParameter, "unusable key in the certificate")
	}
	c.send(appendMessage(nil, kindKeyExchange, ciphertext))
	c.secrets = newSecrets(premaster[:], c.random[:], c.server[:])
	own := finished(c.transcript, senderClient, c.secrets.master)
	c.change(c.secrets.client())
	c.send(appendMessage(nil, kindFinished, own))
	c.expected = finished(c.transcript, senderServer, c.secrets.master)
	c.stage = awaitServerChange
	return nil
}

// oldHello implements role.
func (c *client) oldHello([]byte) error { return unexpected() }

// changed implements role.
func (c *client) changed() error {
	if c.stage != awaitServerChange {
		return unexpected()
	}
	c.in.protect(c.secrets.server())
	c.stage = awaitServerFinished
	return nil
}
