package webservices

import (
	"context"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/respawnd/respawnd/webservices/competition"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Player is a player who has signed in, see Client.SignIn.
type Player struct {
	Certificate *soap.Element
	Proof       string
}

// Match executes a method of the competition service for a player, with a report if it is
// not nil, and returns its result. fields are names and texts of elements in turn. A
// result other than 0 is an error.
func (c *Client) Match(ctx context.Context, who Player, method string, report []byte, fields ...string) (*soap.Element, error) {
	var xml strings.Builder
	xml.WriteString("<ns1:certificate>")
	for _, e := range who.Certificate.Children {
		writeField(&xml, e.Name, e.Value)
	}
	xml.WriteString("</ns1:certificate>")
	writeField(&xml, "proof", who.Proof)
	for i := 0; i+1 < len(fields); i += 2 {
		writeField(&xml, fields[i], fields[i+1])
	}
	request := c.request(competition.Path, competition.Namespace, method, xml.String())
	if report != nil {
		request = c.attach(request, method, report)
	}
	answer, err := c.exchange(ctx, request)
	if err != nil {
		return nil, err
	}
	e, err := soap.Parse(answer)
	if err != nil {
		return nil, err
	}
	result := e.Child(method + "Result")
	if code := result.Text("result"); code != "0" {
		return nil, fmt.Errorf("%s: result %.8q, %q", method, code, result.Text("message"))
	}
	return result, nil
}

// writeField writes an element of a request.
func writeField(b *strings.Builder, name, value string) {
	fmt.Fprintf(b, "<ns1:%s>", name)
	_ = xml.EscapeText(b, []byte(value)) // a Builder takes everything
	fmt.Fprintf(b, "</ns1:%s>", name)
}

// attach returns a request with a report. It announces a few bytes more than it sends, as
// games do.
func (c *Client) attach(request []byte, method string, report []byte) []byte {
	_, envelope, _ := strings.Cut(string(request), "\r\n\r\n")
	body := competition.AppendMessage(nil, []byte(envelope), report)
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: GameSpyHTTP/1.0\r\nConnection: close\r\nContent-Length: %d\r\n"+
		"Content-Type: application/dime\r\nSOAPAction: \"%s%s\"\r\n\r\n%s", competition.Path, c.Host, len(body)+130, competition.Namespace, method, body)
}
