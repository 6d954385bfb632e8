package commands

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) sakeCommand() *cobra.Command {
	return group("sake", "Show and delete the records that games store", p.sakeTables(), p.sakeShow(), p.sakeDelete())
}

func (p *program) sakeTables() *cobra.Command {
	return listOf(p, operator.ListSakeTables, "table…\trecords\tbytes\tfields…", func(t storage.SakeTable) []string {
		names := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			names[i] = c.Name
		}
		return []string{t.Name, strconv.Itoa(t.Records), strconv.FormatInt(t.Bytes, 10), dash(strings.Join(names, " "))}
	})
}

func (p *program) sakeShow() *cobra.Command {
	in := new(operator.SakeQuery)
	return showing(p, &operator.ListSakeRecords.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		q := *in
		var all []storage.SakeRecord
		for left := in.Limit; left > 0; left = in.Limit - len(all) {
			q.Limit = min(left, operator.MaxSakeListed)
			page, err := operator.ListSakeRecords.Call(ctx, c, q)
			if err != nil {
				return err
			}
			all = append(all, page...)
			if len(page) < q.Limit {
				break
			}
			q.After = page[len(page)-1].ID
		}
		return show(p, "id\towner\tchanged\tfields", all, func(r storage.SakeRecord) []string {
			return []string{strconv.FormatUint(uint64(r.ID), 10), strconv.FormatUint(uint64(r.Owner), 10), stamp(r.Changed), dash(sakeFields(r))}
		})
	})
}

// maxSakeText is how many characters of the name and of the value of a field are shown.
const maxSakeText = 60

// sakeFields returns the fields of a record in one line.
func sakeFields(r storage.SakeRecord) string {
	all := make([]string, len(r.Fields))
	for i, f := range r.Fields {
		all[i] = clean.Shorten(f.Name, maxSakeText+1) + "=" + clean.Shorten(f.Value.String(), maxSakeText+1)
	}
	return strings.Join(all, " ")
}

func (p *program) sakeDelete() *cobra.Command {
	return command(p, operator.DeleteSake, func(in operator.SakeTarget, out operator.Removed) error {
		return p.say("deleted %s of table %s of %s", counted(out.Removed, "record"), in.Table, in.Game)
	})
}
