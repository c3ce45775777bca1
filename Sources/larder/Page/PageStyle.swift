/// The stylesheet of the dashboard and of reports: light and dark, from 390 pixels.
enum PageStyle {
    static let text = """
        :root {
          color-scheme: light dark;
          --back: #fbfbfa; --card: #ffffff; --text: #1c1e21; --quiet: #5c636b; --line: #dcdfe3;
          --accent: #1f5fbf; --good: #1b7a43; --bad: #b3261e; --warn: #8a5a00; --bar: #e7e9ec;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --back: #16181b; --card: #1f2226; --text: #e8eaed; --quiet: #a3abb5; --line: #363b41;
            --accent: #8ab4f8; --good: #6fcf97; --bad: #f28b82; --warn: #f2c166; --bar: #33383e;
          }
        }
        * { box-sizing: border-box; }
        body {
          margin: 0; background: var(--back); color: var(--text);
          font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
        }
        header {
          display: flex; flex-wrap: wrap; gap: 4px 20px; align-items: center; padding: 10px 24px;
          background: var(--card); border-bottom: 1px solid var(--line);
        }
        header strong { font-size: 17px; }
        nav { display: flex; flex-wrap: wrap; gap: 2px; flex: 1; }
        nav a { padding: 4px 10px; border-radius: 6px; color: var(--text); text-decoration: none; }
        nav a:hover { background: var(--bar); }
        nav a[aria-current] { background: var(--accent); color: var(--back); }
        #connection { color: var(--quiet); font-size: 13px; }
        #connection.lost { color: var(--bad); font-weight: 600; }
        main { max-width: 1240px; margin: 0 auto; padding: 20px 24px 60px; }
        main:focus { outline: none; }
        h1 { font-size: 22px; margin: 0 0 12px; overflow-wrap: anywhere; }
        h2 { font-size: 16px; margin: 28px 0 10px; }
        h1, td, code { unicode-bidi: isolate; }
        a { color: var(--accent); }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
        .skip { position: absolute; left: -999px; }
        .skip:focus { left: 8px; top: 8px; background: var(--card); padding: 6px 10px; z-index: 1; }
        .quiet { color: var(--quiet); }
        .tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 10px; }
        .tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
        .tile b { display: block; font-size: 22px; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
        .tile span { color: var(--quiet); font-size: 13px; }
        .scroll {
          overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px;
        }
        table { border-collapse: collapse; width: 100%; }
        th, td { min-width: 90px; text-align: left; padding: 8px 12px; border-bottom: 1px solid var(--line); vertical-align: top; }
        tr:last-child td { border-bottom: 0; }
        th { font-weight: 600; font-size: 13px; color: var(--quiet); white-space: nowrap; }
        td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
        td.long { overflow-wrap: anywhere; min-width: 220px; }
        td.actions { white-space: nowrap; text-align: right; }
        .state { font-weight: 600; white-space: nowrap; }
        .good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
        .bar { display: flex; height: 8px; min-width: 110px; border-radius: 4px; overflow: hidden; background: var(--bar); }
        .bar svg { width: 100%; height: 8px; display: block; }
        .chart { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px; }
        .chart svg { width: 100%; height: 140px; display: block; }
        .images { display: grid; grid-template-columns: repeat(auto-fill, minmax(110px, 1fr)); gap: 10px; }
        .images figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 6px; }
        .images img, .images figure > span { display: block; width: 100%; height: 96px; object-fit: contain; }
        .images figcaption { color: var(--quiet); font-size: 12px; overflow-wrap: anywhere; }
        .previews { display: grid; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); gap: 14px; }
        .previews figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px; }
        .previews img { display: block; max-width: 100%; max-height: 480px; margin: 0 auto 8px; }
        .previews p { margin: 4px 0; }
        .previews code { font-size: 12px; color: var(--quiet); overflow-wrap: anywhere; }
        .fill-good { fill: var(--good); } .fill-bad { fill: var(--bad); } .fill-quiet { fill: var(--quiet); }
        form label { display: block; }
        button, input, textarea {
          font: inherit; color: var(--text); background: var(--card); border: 1px solid var(--line);
          border-radius: 6px; padding: 4px 12px;
        }
        textarea { width: 100%; font-family: ui-monospace, monospace; font-size: 13px; }
        input, form label { max-width: 100%; }
        button { cursor: pointer; }
        button:hover { border-color: var(--accent); }
        button.danger { color: var(--bad); }
        .actions { display: flex; flex-wrap: wrap; gap: 8px; margin: 12px 0; }
        dialog {
          color: var(--text); background: var(--card); border: 1px solid var(--line); border-radius: 10px;
          max-width: 520px;
        }
        dialog::backdrop { background: rgb(0 0 0 / 40%); }
        .message { padding: 8px 12px; border-radius: 8px; border: 1px solid var(--line); margin: 10px 0; }
        pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px; overflow: auto; }
        @media (max-width: 600px) {
          header, main { padding-left: 14px; padding-right: 14px; }
          nav { order: 1; flex: 1 0 100%; flex-wrap: nowrap; overflow-x: auto; }
          header strong { flex: 1; }
          .tiles { grid-template-columns: repeat(2, 1fr); }
        }

        """
}
