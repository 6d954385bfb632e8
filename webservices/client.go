package webservices

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/ssl3"
	"github.com/respawnd/respawnd/webservices/auth"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Client asks a service as a game does: for the self-test, load and tests.
type Client struct {
	Address string // of the service, host:port
	Host    string // that the game asks for
	Secure  bool   // over SSL 3.0
}

// maxReply bounds a reply in bytes.
const maxReply = 4 << 20

// Call executes a method at a path and returns the content of its Response. fields is
// XML. The time is that of ctx.
func (c *Client) Call(ctx context.Context, path, namespace, method, fields string) (*soap.Element, error) {
	answer, err := c.exchange(ctx, c.request(path, namespace, method, fields))
	if err != nil {
		return nil, err
	}
	e, err := soap.Parse(answer)
	if err != nil {
		return nil, err
	}
	if e.Name != method+"Response" {
		return nil, fmt.Errorf("the reply is a %s", e.Name)
	}
	return e, nil
}

func (c *Client) request(path, namespace, method, fields string) []byte {
	body := `<?xml version="1.0" encoding="UTF-8"?><SOAP-ENV:Envelope xmlns:SOAP-ENV="http://schemas.xmlsoap.org/soap/envelope/"` +
		` xmlns:SOAP-ENC="http://schemas.xmlsoap.org/soap/encoding/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"` +
		` xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:ns1="` + namespace + `"><SOAP-ENV:Body><ns1:` + method + `>` + fields +
		`</ns1:` + method + `></SOAP-ENV:Body></SOAP-ENV:Envelope>`
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: GameSpyHTTP/1.0\r\nConnection: close\r\nContent-Length: %d\r\n"+
		"Content-Type: text/xml\r\nSOAPAction: \"%s/%s\"\r\n\r\n%s", path, c.Host, len(body), strings.TrimSuffix(namespace, "/"), method, body)
}

// exchange sends a request and returns the body of the answer.
func (c *Client) exchange(ctx context.Context, request []byte) ([]byte, error) {
	_, body, err := c.roundTrip(ctx, request)
	return body, err
}

// roundTrip sends a request and returns the header and the body of the answer.
func (c *Client) roundTrip(ctx context.Context, request []byte) (http.Header, []byte, error) {
	conn, err := netclient.DialTCP(ctx, c.Address)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = conn.Close() }()
	by, _ := ctx.Deadline()
	if err := conn.SetDeadline(by); err != nil {
		return nil, nil, err
	}
	if c.Secure {
		if conn, err = ssl3.Client(conn, rand.Reader, ssl3.Timeout); err != nil {
			return nil, nil, err
		}
	}
	if _, err := conn.Write(request); err != nil {
		return nil, nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("the answer has status %d", answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxReply))
	return answer.Header, body, err
}

// ErrSignIn is matched by the error of SignIn for a result other than 0.
var ErrSignIn = errors.New("the sign-in was refused")

// SignIn signs in with a unique nick of namespace 1 and returns the certificate and
// the proof. key is the public key that the game has; nil: the game does not encrypt, as in
// the mode identity.
func (c *Client) SignIn(ctx context.Context, key *rsa.PublicKey, nick, password string) (certificate *soap.Element, proof string, err error) {
	var fields strings.Builder
	writeField(&fields, "uniquenick", nick)
	p, err := c.signOn(ctx, "LoginUniqueNick", fields.String(), key, password)
	return p.Certificate, p.Proof, err
}

// Account is a new account.
type Account struct{ Email, Nick, UniqueNick, Password string }

// CreateAccount creates an account and signs its player in. key is that of SignIn.
func (c *Client) CreateAccount(ctx context.Context, key *rsa.PublicKey, a Account) (Player, error) {
	var fields strings.Builder
	for _, f := range [][2]string{{"email", a.Email}, {"profilenick", a.Nick}, {"uniquenick", a.UniqueNick}} {
		writeField(&fields, f[0], f[1])
	}
	return c.signOn(ctx, "CreateUserAccount", fields.String(), key, a.Password)
}

// signOn executes a method with a password that replies with a certificate.
func (c *Client) signOn(ctx context.Context, method, fields string, key *rsa.PublicKey, password string) (p Player, err error) {
	value, err := PasswordBlock(key, password)
	if err != nil {
		return p, err
	}
	e, err := c.Call(ctx, auth.Path, auth.Namespace, method, "<ns1:version>1</ns1:version><ns1:partnercode>0</ns1:partnercode><ns1:namespaceid>1</ns1:namespaceid>"+
		fields+"<ns1:password><ns1:Value>"+hex.EncodeToString(value)+"</ns1:Value></ns1:password>")
	if err != nil {
		return p, err
	}
	result := e.Child(method + "Result")
	if code := result.Text("responseCode"); code != "0" {
		return p, fmt.Errorf("%w: code %.8q", ErrSignIn, code)
	}
	private, err := hex.DecodeString(result.Text("peerkeyprivate"))
	return Player{result.Child("certificate"), auth.ProofOf(bytes.TrimLeft(private, "\x00"))}, err
}

// PasswordBlock returns a password as games send it, see SignIn.
func PasswordBlock(key *rsa.PublicKey, password string) ([]byte, error) {
	if key != nil {
		return rsa.EncryptPKCS1v15(rand.Reader, key, []byte(password))
	}
	const size = 128
	if len(password) > size-11 {
		return nil, rsa.ErrMessageTooLong
	}
	block := bytes.Repeat([]byte{0xff}, size)
	copy(block, "\x00\x02")
	copy(block[size-len(password)-1:], "\x00"+password)
	return block, nil
}
