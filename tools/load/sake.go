package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/sake"
)

// ownRecords is how many records a reader of records has: the reply is as long as that
// to a sign-in.
const ownRecords = 10

// recordPlayer calls a method of SAKE again and again.
type recordPlayer struct {
	client webservices.Client
	ticket string
	method string
	fields string // behind the ticket and the table
}

// openRecordPlayer signs in player i over GPCM for a ticket, which stays valid after it.
func openRecordPlayer(ctx context.Context, w *world, i int) (*recordPlayer, error) {
	s, err := signIn(ctx, w, i)
	if err != nil {
		return nil, err
	}
	defer s.close(false)
	values := "<ns1:values>" + recordField("name", "unicodeStringValue", fmt.Sprint("Castle of player ", i)) +
		recordField("score", "intValue", strconv.Itoa(i)) + recordField("level", "byteValue", "7") + "</ns1:values>"
	return &recordPlayer{
		client: webservices.Client{Address: w.daemon.at("webservices").String(), Host: game + ".sake.gamespy.com"},
		ticket: s.Ticket, method: "CreateRecord", fields: values,
	}, nil
}

func recordField(name, kind, text string) string {
	return fmt.Sprintf("<ns1:RecordField><ns1:name>%s</ns1:name><ns1:value><ns1:%s><ns1:value>%s</ns1:value></ns1:%[2]s></ns1:value></ns1:RecordField>",
		name, kind, text)
}

// openRecordWriter opens a player who creates records.
func openRecordWriter(ctx context.Context, w *world, i int) (user, error) {
	return openRecordPlayer(ctx, w, i)
}

// openRecordReader opens a player who asks for some records of its own.
func openRecordReader(ctx context.Context, w *world, i int) (user, error) {
	p, err := openRecordPlayer(ctx, w, i)
	if err != nil {
		return nil, err
	}
	for range ownRecords {
		if err := p.do(ctx); err != nil {
			return nil, err
		}
	}
	p.method = "GetMyRecords"
	p.fields = "<ns1:fields><ns1:string>name</ns1:string><ns1:string>score</ns1:string><ns1:string>level</ns1:string></ns1:fields>"
	return p, nil
}

// do is a connection with a call and its answer.
func (p *recordPlayer) do(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	fields := "<ns1:gameid>0</ns1:gameid><ns1:secretKey>" + secret + "</ns1:secretKey><ns1:loginTicket>" + p.ticket +
		"</ns1:loginTicket><ns1:tableid>levels</ns1:tableid>" + p.fields
	e, err := p.client.Call(ctx, sake.Path, sake.Namespace, p.method, fields)
	if err != nil {
		return err
	}
	if result := e.Text(p.method + "Result"); result != "Success" {
		return fmt.Errorf("%s: %.40q", p.method, result)
	}
	if list := e.Child("values"); p.method == "GetMyRecords" && (list == nil || len(list.Children) != ownRecords) {
		return fmt.Errorf("%s: not %d records", p.method, ownRecords)
	}
	return nil
}

func (p *recordPlayer) close(bool) {}
