package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// params are the parameters of a request. The same functions read them from a
// received request and write them to a new one.
type params struct {
	r     *http.Request // the request that is read; nil while writing
	query url.Values
	part  string // written: the value of {id} or {name} in the path, escaped
	body  []byte // written
	err   error  // the first error; nothing is read after it
}

// readParams returns the parameters of a request.
func readParams[In any](r *http.Request, fields func(*params, *In)) (in In, err error) {
	p := &params{r: r, query: r.URL.Query()}
	fields(p, &in)
	return in, p.err
}

// refuse records an error.
func (p *params) refuse(err error) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
	}
}

// value reads a parameter of the query with parse, or writes text. Empty and
// missing are the same.
func (p *params) value(name, text string, parse func(text string) error) {
	if p.r == nil {
		if text != "" {
			p.query.Set(name, text)
		}
		return
	}
	if p.err == nil {
		if err := parse(p.query.Get(name)); err != nil {
			p.refuse(err)
		}
	}
}

func (p *params) text(name string, v *string) {
	p.value(name, *v, func(text string) error { *v = text; return nil })
}

// errNotNumber is the error for a parameter that must be a number.
func errNotNumber(name string) error { return fmt.Errorf("%s is not a number", name) }

// number is a number from 0 to math.MaxInt32, by default 0.
func number[T ~int | ~uint32](p *params, name string, v *T) {
	text := ""
	if *v != 0 {
		text = fmt.Sprint(*v)
	}
	p.value(name, text, func(text string) error {
		if text == "" {
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return errNotNumber(name)
		}
		*v = T(n)
		return nil
	})
}

// idParam is the {id} of an account or a profile in the path.
func idParam[T ~uint32](p *params, v *T) {
	if p.r == nil {
		p.part = strconv.FormatUint(uint64(*v), 10)
		return
	}
	n, err := strconv.ParseUint(p.r.PathValue("id"), 10, 31)
	if err != nil || n == 0 {
		p.refuse(errors.New("the id is not a number above 0"))
	}
	*v = T(n)
}

// nameParam is the {name} of a game in the path.
func nameParam(p *params, v *string) {
	if p.r == nil {
		p.part = url.PathEscape(*v)
		return
	}
	*v = p.r.PathValue("name")
}

// jsonBody is the body of a request. An unknown field is an error.
func jsonBody[T any](p *params, v *T) {
	if p.r == nil {
		p.body, p.err = json.Marshal(v)
		return
	}
	if p.err != nil {
		return
	}
	d := json.NewDecoder(p.r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		p.refuse(err)
	} else if _, err := d.Token(); !errors.Is(err, io.EOF) {
		p.refuse(errors.New("more than one value"))
	}
}

// secretBody is jsonBody for a body that holds a password: errors do not quote it.
func secretBody[T any](p *params, v *T) {
	if p.err != nil {
		return
	}
	if jsonBody(p, v); p.err != nil {
		p.err = fmt.Errorf("%w: the body is not valid", operator.ErrBadRequest)
	}
}

// gameList is a list of games, which the API carries as YAML.
type gameList []games.Game

// yamlBody is the body of a request that holds games.
func yamlBody(p *params, v *gameList) {
	if p.r == nil {
		p.body = games.AppendYAML(nil, *v)
		return
	}
	doc, err := io.ReadAll(p.r.Body)
	if err == nil {
		*v, err = games.ParseYAML(bytes.NewReader(doc), games.Source{Origin: games.FromStore})
	}
	if err != nil {
		p.refuse(err)
	}
}

// importedList is a list of games in any format of games.Import.
type importedList struct {
	name string // of the file; it may tell the format
	data []byte
}

// params reads a list from the body of a request.
func (l *importedList) params(p *params) {
	p.text("name", &l.name)
	if p.r == nil {
		p.body = l.data
		return
	}
	var err error
	if l.data, err = io.ReadAll(p.r.Body); err != nil {
		p.refuse(err)
	}
}

// store stores the additions of the list to the catalogue.
func (l *importedList) store(ctx context.Context, op operator.Operator) (operator.GameImport, error) {
	list, report, err := games.Import(bytes.NewReader(l.data), l.name)
	if err != nil {
		return operator.GameImport{}, fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
	}
	return operator.ImportGames(ctx, op, list, report)
}

// banRef names the bans of a prefix, by default those of every scope.
type banRef struct {
	prefix netip.Prefix
	scope  storage.Scope
}

func (b *banRef) params(p *params) {
	p.value("prefix", b.prefix.String(), func(text string) (err error) {
		b.prefix, err = bans.ParsePrefix(text)
		return err
	})
	scope := ""
	if b.scope != storage.EveryScope {
		scope = b.scope.String()
	}
	p.value("scope", scope, func(text string) (err error) {
		if b.scope = storage.EveryScope; text != "" {
			b.scope, err = storage.ParseScope(text)
		}
		return err
	})
}
