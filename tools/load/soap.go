package main

import (
	"context"
	"crypto"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"time"

	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/auth"
)

// Sizes of a sign-in over SOAP, headers aside.
const (
	echoSOAP        = 2_100 // the reply with a certificate
	echoSOAPRequest = 870
)

// soapPlayer signs in over SOAP again and again.
type soapPlayer struct {
	client webservices.Client
	key    *rsa.PublicKey
	nick   string
}

func openSOAPPlayer(_ context.Context, w *world, i int) (user, error) {
	key, err := auth.ReadKey(filepath.Join(w.daemon.cmd.Dir, "data", auth.KeyName))
	if err != nil {
		return nil, err
	}
	return &soapPlayer{
		client: webservices.Client{Address: w.daemon.at("webservices").String(), Host: game + ".auth.pubsvs.gamespy.com"},
		key:    key.Public(), nick: w.players[i].nick,
	}, nil
}

// do is a connection with a sign-in.
func (p *soapPlayer) do(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, _, err := p.client.SignIn(ctx, p.key, p.nick, password)
	return err
}

func (p *soapPlayer) close(bool) {}

// poster sends the bare server as many bytes as a sign-in has.
type poster struct {
	address string
	request []byte
}

func openPoster(_ context.Context, w *world, _ int) (user, error) { return newPoster(w, "/"), nil }

// openSigned opens a poster for whom the bare server makes a signature.
func openSigned(_ context.Context, w *world, _ int) (user, error) { return newPoster(w, signPath), nil }

func newPoster(w *world, path string) *poster {
	request := fmt.Appendf(nil, "POST %s%d HTTP/1.1\r\nHost: %s.auth.pubsvs.gamespy.com\r\nUser-Agent: GameSpyHTTP/1.0\r\nConnection: close\r\n"+
		"Content-Length: %d\r\nContent-Type: text/xml\r\nSOAPAction: \"http://gamespy.net/AuthService/LoginUniqueNick\"\r\n\r\n", path, echoSOAP, game, echoSOAPRequest)
	return &poster{w.daemon.at("web").String(), append(request, make([]byte, echoSOAPRequest)...)}
}

// do is a connection with a request and its answer.
func (p *poster) do(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp4", p.address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := conn.Write(p.request); err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, conn)
	if err == nil && n < echoSOAP {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (p *poster) close(bool) {}

// signTime returns the processor time of a signature of RSA-1024, without which
// there is no certificate.
func signTime() (time.Duration, error) {
	key, err := rsa.GenerateKey(rand.Reader, 1024) // games know no longer ones
	if err != nil {
		return 0, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := threadTime()
	if err != nil {
		return 0, err
	}
	const rounds = 500
	sum := md5.Sum(nil)
	for range rounds {
		if _, err := rsa.SignPKCS1v15(nil, key, crypto.MD5, sum[:]); err != nil {
			return 0, err
		}
	}
	after, err := threadTime()
	return (after - before) / rounds, err
}
