/// The stylesheet of the dashboard and of reports: light and dark, from 390 pixels.
enum PageStyle {
    static let text = """
        :root {
          color-scheme: light dark; accent-color: var(--accent);
          --back: #fbfbfa; --card: #ffffff; --text: #1c1e21; --quiet: #5c636b; --line: #dcdfe3;
          --accent: #1f5fbf; --good: #1b7a43; --bad: #b3261e; --warn: #8a5a00; --bar: #e7e9ec;
          --hover: #f4f6f8; --edge: #868e97;
          --accent-back: #e6eefa; --good-back: #e4f2ea; --bad-back: #fbe9e7; --warn-back: #f8efdc;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --back: #16181b; --card: #1f2226; --text: #e8eaed; --quiet: #a3abb5; --line: #363b41;
            --accent: #8ab4f8; --good: #6fcf97; --bad: #f28b82; --warn: #f2c166; --bar: #33383e;
            --hover: #262a2f; --edge: #7b838d;
            --accent-back: #26364d; --good-back: #1e3a2a; --bad-back: #47292a; --warn-back: #40351d;
          }
        }
        * { box-sizing: border-box; }
        html { scroll-padding-top: 64px; }
        body {
          margin: 0; background: var(--back); color: var(--text);
          font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
        }
        header {
          display: flex; flex-wrap: wrap; gap: 4px 20px; align-items: center; position: sticky; top: 0; z-index: 2;
          padding: 10px max(24px, calc((100% - 1192px) / 2));
          background: var(--card); border-bottom: 1px solid var(--line);
        }
        header strong { font-size: 17px; }
        nav { display: flex; flex-wrap: wrap; gap: 4px 8px; flex: 1; }
        nav .group { display: flex; gap: 2px; }
        nav .group + .group { padding-left: 8px; border-left: 1px solid var(--line); }
        nav a { padding: 4px 7px; border-radius: 6px; color: var(--text); text-decoration: none; white-space: nowrap; }
        nav a:hover { background: var(--bar); }
        nav a[aria-current] { background: var(--accent); color: var(--back); }
        nav .count {
          display: inline-block; min-width: 20px; margin-left: 6px; padding: 0 6px; border-radius: 10px;
          text-align: center; font-size: 12px; line-height: 20px; background: var(--warn); color: var(--back);
        }
        nav .count.bad { background: var(--bad); }
        nav a[aria-current] .count { background: var(--back); color: var(--text); }
        #connection { color: var(--quiet); font-size: 13px; }
        #connection.live::before {
          content: ""; display: inline-block; width: 8px; height: 8px; margin-right: 6px; border-radius: 50%;
          background: var(--good);
        }
        #connection.lost { color: var(--bad); font-weight: 600; }
        main { max-width: 1240px; margin: 0 auto; padding: 20px 24px 60px; }
        main:focus { outline: none; }
        h1 { font-size: 22px; margin: 0 0 12px; overflow-wrap: anywhere; }
        h1.lengthy { font-size: 17px; line-height: 1.4; }
        h2 { font-size: 18px; margin: 32px 0 10px; overflow-wrap: anywhere; }
        h1, h2, td, code { unicode-bidi: isolate; }
        a { color: var(--accent); }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
        .skip { position: absolute; left: -999px; }
        .skip:focus { left: 8px; top: 8px; background: var(--card); padding: 6px 10px; z-index: 3; }
        .quiet { color: var(--quiet); }
        .tiles {
          display: grid; grid-template-columns: repeat(auto-fit, minmax(124px, 1fr)); gap: 1px; overflow: hidden;
          background: var(--card); border: 1px solid var(--line); border-radius: 8px;
        }
        .tile { padding: 8px 12px; box-shadow: 0 0 0 1px var(--line); }
        .tile b { display: block; font-size: 19px; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
        .tile span { display: block; color: var(--quiet); font-size: 13px; line-height: 1.35; }
        .scroll {
          overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px;
        }
        table { border-collapse: collapse; width: 100%; }
        th, td { min-width: 90px; text-align: left; padding: 8px 12px; border-bottom: 1px solid var(--line); vertical-align: baseline; }
        tbody tr:last-child td { border-bottom: 0; }
        tbody tr:hover { background: var(--hover); }
        th { font-weight: 600; font-size: 13px; color: var(--quiet); white-space: nowrap; }
        td.none { color: var(--quiet); } td.error { white-space: nowrap; }
        td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
        td.long { overflow-wrap: anywhere; min-width: 220px; } td.medium { overflow-wrap: anywhere; min-width: 140px; }
        td.cause { width: 45%; }
        td.actions { display: table-cell; white-space: nowrap; text-align: right; }
        td time { white-space: nowrap; }
        .good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
        .state {
          display: inline-block; padding: 1px 9px; border-radius: 11px; background: var(--bar);
          font-size: 13px; font-weight: 600; white-space: nowrap;
        }
        .state.good { background: var(--good-back); } .state.bad { background: var(--bad-back); }
        .state.warn { background: var(--warn-back); }
        .state.active { background: var(--accent-back); color: var(--accent); }
        .state + .quiet { margin-left: 8px; }
        .clamp {
          display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden;
          width: fit-content; max-width: 100%;
        }
        .clamp.url { -webkit-line-clamp: 3; } small { color: var(--quiet); font-size: 13px; }
        .empty {
          margin: 10px 0; padding: 16px; border: 1px dashed var(--line); border-radius: 8px; color: var(--quiet);
          overflow-wrap: anywhere;
        }
        .empty code { color: var(--text); }
        .bar { display: flex; height: 8px; min-width: 110px; border-radius: 4px; overflow: hidden; background: var(--bar); }
        .bar svg { width: 100%; height: 8px; display: block; }
        .chart { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px; }
        .chart svg { width: 100%; height: 140px; display: block; }
        .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 10px; }
        .chart figcaption { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-bottom: 8px; font-size: 13px; }
        .legend { display: inline-flex; align-items: center; gap: 6px; color: var(--quiet); }
        .legend i { width: 14px; height: 10px; }
        .key-good { background: var(--good); } .key-accent { background: var(--accent); }
        .key-bad { position: relative; }
        .key-bad::before { content: ""; position: absolute; inset: 0; background: var(--bad); opacity: 0.5; }
        .key-bad::after {
          content: ""; position: absolute; inset: 0;
          background: repeating-linear-gradient(var(--bad) 0 2px, transparent 2px 4px);
        }
        .stripe { fill: var(--bad); } .between { fill: var(--bad); fill-opacity: 0.5; }
        .plot { display: grid; grid-template-columns: auto 1fr; gap: 4px 8px; font-size: 12px; color: var(--quiet); }
        .plot .left { display: flex; flex-direction: column; justify-content: space-between; text-align: right; margin: -8px 0; }
        .plot .below { grid-column: 2; display: flex; justify-content: space-between; font-variant-numeric: tabular-nums; }
        .grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
        .area { fill: var(--accent); fill-opacity: 0.18; }
        .line { fill: none; stroke: var(--accent); stroke-width: 2; vector-effect: non-scaling-stroke; }
        .fill-accent { fill: var(--accent); }
        .heading { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0 16px; }
        .choice { display: flex; gap: 4px; }
        .choice button[aria-pressed="true"] { background: var(--accent); color: var(--back); border-color: var(--accent); }
        .filter { display: grid; grid-template-columns: 3fr 3fr 3fr 2fr 2fr auto; gap: 8px; align-items: end; }
        .filter label { color: var(--quiet); font-size: 13px; } .filter input { font-size: 15px; }
        .filter input { width: 100%; } .filter .actions { margin: 0; align-items: center; }
        .part {
          background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 6px 14px;
          overflow-wrap: anywhere;
        }
        .part[open] { padding-bottom: 12px; } .part .scroll { margin-top: 8px; }
        .scroll + .part, .scroll + .scroll, .chart + .scroll, .part + .part { margin-top: 10px; }
        summary { cursor: pointer; }
        h3 { font-size: 15px; margin: 20px 0 8px; }
        td p { margin: 2px 0; } td p.quiet { font-size: 13px; } td .bar { margin-top: 7px; min-width: 60px; }
        td ul { margin: 4px 0; padding-left: 18px; }
        .progress { display: flex; align-items: center; gap: 10px; white-space: nowrap; }
        .progress .bar { flex: 1; margin: 0; } .progress span { min-width: 44px; text-align: right; }
        .images { display: grid; grid-template-columns: repeat(auto-fill, minmax(132px, 1fr)); gap: 10px; }
        .images figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
        .images img, .images figure > span { display: block; width: 100%; height: 96px; object-fit: contain; background: var(--bar); }
        .images figure > span { padding: 36px 4px 0; text-align: center; font-size: 12px; }
        .images figcaption { padding: 5px 8px; color: var(--quiet); font-size: 12px; overflow-wrap: anywhere; }
        .images figcaption b, .images figcaption span {
          display: block; white-space: nowrap; overflow: hidden; text-overflow: ellipsis;
        }
        .images figcaption b { color: var(--text); font-weight: 600; }
        .images .bare { align-self: start; } .images .bare .state { display: inline-block; font-size: 12px; }
        .images .bare .cause { white-space: normal; }
        .drop { border: 1px dashed var(--quiet); border-radius: 8px; padding: 8px 12px; }
        textarea[aria-invalid] { border-color: var(--bad); } #preview-error:empty { display: none; }
        .editor label { margin-bottom: 4px; } .editor textarea { display: block; }
        .editor .heading { margin-bottom: 6px; align-items: end; } .editor .heading label { margin: 0; } .heading + p { margin-top: 0; }
        .part pre { border: 0; padding: 8px 0 0; margin: 0; } td ol { margin: 0; padding-left: 18px; }
        .editor { display: grid; grid-template-columns: minmax(320px, 5fr) 7fr; gap: 12px 32px; align-items: start; }
        .editor input, .editor .message { width: 100%; } .editor form > p:first-child, .editor div > p { margin-top: 0; }
        .previews { display: grid; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); gap: 14px; }
        .previews figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px; }
        .previews img { display: block; max-width: 100%; max-height: 480px; margin: 0 auto 8px; }
        .previews p { margin: 4px 0; } .previews .bar { margin: 6px 0; }
        .previews code { font-size: 12px; color: var(--quiet); overflow-wrap: anywhere; }
        .fill-good { fill: var(--good); } .fill-bad { fill: var(--bad); } .fill-quiet { fill: var(--quiet); }
        td.actions button { padding: 1px 9px; font-size: 13px; } td.actions button + button { margin-left: 6px; }
        form label { display: block; }
        button, input, textarea {
          font: inherit; color: var(--text); background: var(--card); border: 1px solid var(--line);
          border-radius: 6px; padding: 4px 12px;
        }
        input, textarea { border-color: var(--edge); }
        textarea { width: 100%; font-family: ui-monospace, monospace; font-size: 13px; }
        input, form label { max-width: 100%; }
        button { cursor: pointer; }
        button:hover { border-color: var(--accent); background: var(--hover); }
        button:disabled { cursor: default; color: var(--quiet); }
        button.primary { background: var(--accent); color: var(--back); border-color: var(--accent); }
        button.primary:hover { background: var(--text); border-color: var(--text); }
        button.danger { color: var(--bad); } button.danger:hover { border-color: var(--bad); }
        dialog button.danger, dialog button.danger:hover {
          background: var(--bad); color: var(--back); border-color: var(--bad);
        }
        .actions { display: flex; flex-wrap: wrap; gap: 8px; margin: 12px 0; }
        dialog {
          color: var(--text); background: var(--card); border: 1px solid var(--line); border-radius: 10px;
          max-width: 520px; padding: 20px;
        }
        dialog > p { margin: 0; overflow-wrap: anywhere; } dialog .actions { margin: 20px 0 0; }
        dialog::backdrop { background: rgb(0 0 0 / 40%); }
        .message { padding: 8px 12px; border-radius: 8px; border: 1px solid var(--line); margin: 10px 0; }
        pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px; overflow: auto; }
        @media (max-width: 900px) {
          .editor { grid-template-columns: minmax(0, 1fr); }
          .filter { grid-template-columns: repeat(2, minmax(0, 1fr)); }
        }
        @media (max-width: 600px) {
          html { scroll-padding-top: 0; }
          header { position: static; }
          header, main { padding-left: 14px; padding-right: 14px; }
          nav {
            order: 1; flex: 1 0 100%; flex-wrap: nowrap; gap: 4px; overflow-x: auto; scrollbar-width: none;
            padding-right: 40px; mask-image: linear-gradient(to left, transparent, #000 36px);
          }
          nav .group + .group { padding-left: 4px; } nav a { padding: 4px 6px; }
          header strong { flex: 1; }
          .tiles { grid-template-columns: repeat(3, 1fr); }
          .tiles:has(> :nth-child(4):last-child) { grid-template-columns: repeat(2, 1fr); }
          .tile { padding: 6px 10px; } .tile b { font-size: 17px; }
          .stacked, .stacked tbody { display: block; } .stacked thead { display: none; }
          .stacked tr {
            display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 4px 12px; padding: 10px 12px;
            border-bottom: 1px solid var(--line);
          }
          .stacked tbody tr:last-child { border-bottom: 0; }
          .stacked td, .stacked td.number {
            min-width: 0; width: auto; padding: 0; border: 0; text-align: left; overflow-wrap: anywhere;
          }
          .stacked tr:has(td.number:nth-child(2) ~ td.number:nth-child(5)):not(:has(.bars)) {
            grid-template-columns: repeat(4, minmax(0, 1fr));
          }
          .stacked td[data-title]::before {
            content: attr(data-title); display: block; color: var(--quiet); font-size: 12px; line-height: 1.3;
            white-space: normal;
          }
          .stacked td.medium, .stacked td.error, .stacked td:has(.progress) { grid-column: span 2; }
          .stacked td time { white-space: normal; } .stacked td.cause + td { grid-column: span 2; }
          .stacked td:first-child, .stacked td.long, .stacked td.actions { grid-column: 1 / -1; }
          .stacked td.error { white-space: normal; }
          .stacked td.actions { display: flex; margin: 4px 0 0; } .stacked td.actions:empty { display: none; }
          .stacked td:first-child { font-weight: 600; } .stacked td:first-child::before { display: none; }
          .stacked td:first-child p, .stacked td:first-child details { font-weight: 400; }
          .stacked td.bars, .stacked td.none { display: none; }
          td.actions button { padding: 5px 14px; font-size: 14px; }
        }

        """
}
