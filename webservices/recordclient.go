package webservices

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/sake"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Storage is SAKE for a player of a game.
type Storage struct {
	Client
	Secret string // key of the game
	Ticket string // of the player, from the login over GPCM
}

// ErrStorage is matched by the error of a method of SAKE with a result other than
// Success, and of a file with a result other than 0. Its text has the result.
var ErrStorage = errors.New("the storage refused")

// Create stores a record and returns its id.
func (s *Storage) Create(ctx context.Context, table string, fields ...storage.SakeField) (id uint32, err error) {
	e, err := s.method(ctx, "CreateRecord", table, func(b *strings.Builder) { writeValues(b, fields) })
	if err != nil {
		return 0, err
	}
	n, _ := e.Int("recordid")
	if n <= 0 || n > storage.MaxSakeID {
		return 0, fmt.Errorf("the id of the record is %.20q", e.Text("recordid"))
	}
	return uint32(n), nil
}

// Update changes fields of a record.
func (s *Storage) Update(ctx context.Context, table string, id uint32, fields ...storage.SakeField) error {
	_, err := s.method(ctx, "UpdateRecord", table, func(b *strings.Builder) {
		writeRecordID(b, id)
		writeValues(b, fields)
	})
	return err
}

// Delete deletes a record.
func (s *Storage) Delete(ctx context.Context, table string, id uint32) error {
	_, err := s.method(ctx, "DeleteRecord", table, func(b *strings.Builder) { writeRecordID(b, id) })
	return err
}

// Rate rates a record and returns the number of its ratings and their average.
func (s *Storage) Rate(ctx context.Context, table string, id uint32, rating int) (ratings, average string, err error) {
	e, err := s.method(ctx, "RateRecord", table, func(b *strings.Builder) {
		writeRecordID(b, id)
		writeField(b, "rating", strconv.Itoa(rating))
	})
	if err != nil {
		return "", "", err
	}
	return e.Text("numRatings"), e.Text("averageRating"), nil
}

// Search returns fields of the first 20 records that match a filter, as texts.
func (s *Storage) Search(ctx context.Context, table, filter string, fields ...string) (records [][]string, err error) {
	e, err := s.method(ctx, "SearchForRecords", table, func(b *strings.Builder) {
		writeField(b, "filter", filter)
		b.WriteString("<ns1:sort></ns1:sort><ns1:offset>0</ns1:offset><ns1:max>20</ns1:max><ns1:targetfilter></ns1:targetfilter>" +
			"<ns1:surrounding>0</ns1:surrounding><ns1:cacheFlag>0</ns1:cacheFlag><ns1:fields>")
		for _, f := range fields {
			writeField(b, "string", f)
		}
		b.WriteString("</ns1:fields>")
	})
	if err != nil {
		return nil, err
	}
	values := e.Child("values")
	if values == nil {
		return nil, errors.New("the reply to a search has no values")
	}
	for _, r := range values.Children {
		var record []string
		for _, v := range r.Children {
			if len(v.Children) != 1 {
				return nil, fmt.Errorf("a value of the reply has %d types", len(v.Children))
			}
			record = append(record, v.Children[0].Text("value"))
		}
		records = append(records, record)
	}
	return records, nil
}

// method executes a method. write writes the elements after the table.
func (s *Storage) method(ctx context.Context, method, table string, write func(*strings.Builder)) (*soap.Element, error) {
	var b strings.Builder
	for _, f := range [][2]string{{"gameid", "0"}, {"secretKey", s.Secret}, {"loginTicket", s.Ticket}, {"tableid", table}} {
		writeField(&b, f[0], f[1])
	}
	write(&b)
	e, err := s.Call(ctx, sake.Path, sake.Namespace, method, b.String())
	if err != nil {
		return nil, err
	}
	if result := e.Text(method + "Result"); result != "Success" {
		return nil, fmt.Errorf("%w: %s: %.40q", ErrStorage, method, result)
	}
	return e, nil
}

func writeRecordID(b *strings.Builder, id uint32) {
	writeField(b, "recordid", strconv.FormatUint(uint64(id), 10))
}

func writeValues(b *strings.Builder, fields []storage.SakeField) {
	b.WriteString("<ns1:values>")
	for _, f := range fields {
		b.WriteString("<ns1:RecordField>")
		writeField(b, "name", f.Name)
		fmt.Fprintf(b, "<ns1:value><ns1:%s>", f.Value.Type)
		writeField(b, "value", f.Value.String())
		fmt.Fprintf(b, "</ns1:%s></ns1:value></ns1:RecordField>", f.Value.Type)
	}
	b.WriteString("</ns1:values>")
}

// formBoundary is that of the uploads of games.
const formBoundary = "Qr4G823s23d---<<><><<<>--7d118e0536"

// Upload stores a file of a profile, which has signed in or shown its ticket from the
// same address, and returns its id. It announces a length as games do.
func (s *Storage) Upload(ctx context.Context, profile, name, content string) (id string, err error) {
	body := "--" + formBoundary + "\r\nContent-Disposition: form-data; name=\"filedata\"; filename=\"" + name + "\"\r\n" +
		"Content-Type: application/octet-stream\r\n\r\n" + content + "\r\n--" + formBoundary + "--\r\n"
	header, _, err := s.roundTrip(ctx, fmt.Appendf(nil, "POST /SakeFileServer/upload.aspx?gameid=0&pid=%s HTTP/1.1\r\nHost: %s\r\n"+
		"User-Agent: GameSpyHTTP/1.0\r\nConnection: close\r\nContent-Length: %d\r\nContent-Type: multipart/form-data; boundary=%s\r\n\r\n%s",
		url.QueryEscape(profile), s.Host, len(body), formBoundary, body))
	if err != nil {
		return "", err
	}
	if result := header.Get("Sake-File-Result"); result != "0" {
		return "", fmt.Errorf("%w: upload: %.20q", ErrStorage, result)
	}
	return header.Get("Sake-File-Id"), nil
}

// Download returns a file for a profile.
func (s *Storage) Download(ctx context.Context, profile, id string) (content string, err error) {
	header, body, err := s.roundTrip(ctx, fmt.Appendf(nil, "GET /SakeFileServer/download.aspx?fileid=%s&gameid=0&pid=%s HTTP/1.1\r\nHost: %s\r\n"+
		"User-Agent: GameSpyHTTP/1.0\r\nConnection: close\r\n\r\n", url.QueryEscape(id), url.QueryEscape(profile), s.Host))
	if err != nil {
		return "", err
	}
	if result := header.Get("Sake-File-Result"); result != "0" {
		return "", fmt.Errorf("%w: download: %.20q", ErrStorage, result)
	}
	return string(body), nil
}
