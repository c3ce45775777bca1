/// What a report adds to the stylesheet.
enum ReportStyle {
    static let text = """
        html { scroll-behavior: smooth; }
        main p { overflow-wrap: anywhere; }
        section { margin-top: 36px; }
        h2 { font-size: 20px; }
        nav b { color: var(--bad); }
        .sentence { font-size: 18px; margin: 4px 0 12px; } .sentence .bad { font-weight: 600; }
        .fill-none { fill: transparent; } .fill-warn { fill: var(--warn); }
        .keys { display: flex; flex-wrap: wrap; gap: 4px 22px; margin: 8px 0 16px; }
        .keys .legend { color: var(--text); } .keys i { border-radius: 3px; overflow: hidden; }
        .key-quiet { background: var(--quiet); } .key-warn { background: var(--warn); }
        .keys .key-bad::before { opacity: 1; } .key-none { background: var(--bar); }
        .reasons { margin: -6px 0 16px; padding: 0; list-style: none; }
        .reasons li { margin: 2px 0; } .reasons a { color: var(--text); text-decoration: none; }
        .reasons a:hover { text-decoration: underline; } .reasons b { color: var(--bad); }
        .chart { margin-bottom: 10px; } .plot .below { flex-wrap: wrap; gap: 0 8px; }
        td.long code, li code { overflow-wrap: anywhere; }
        code { font: 13px/1.5 ui-monospace, "Liberation Mono", monospace; }
        .causes td.number { font-size: 18px; min-width: 64px; width: 1%; }
        .action code { display: inline-block; max-width: 100%; overflow-wrap: anywhere; }
        .actions { align-items: center; }
        .narrow { max-width: 760px; } td.bars { min-width: 120px; }
        .causes details { margin: 2px 0; } .causes p { font-size: 14px; }
        .action { color: var(--quiet); font-size: 14px; }
        .controls { display: flex; flex-wrap: wrap; gap: 8px 14px; margin: 10px 0; align-items: end; }
        .controls label { display: grid; font-size: 13px; color: var(--quiet); }
        .controls input, .controls select { height: 36px; }
        .controls label:first-child { flex: 1 1 220px; }
        select {
          font: inherit; color: var(--text); background: var(--card); border: 1px solid var(--edge);
          border-radius: 6px; padding: 4px 8px;
        }
        .gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 12px; margin: 12px 0; }
        .item {
          display: flex; flex-direction: column; padding: 0; text-align: left; overflow: hidden; width: 100%;
          border-radius: 8px; background: var(--card);
        }
        .picture { position: relative; display: block; height: 130px; width: 100%; background: var(--bar); overflow: hidden; }
        .picture canvas, .picture img { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: cover; }
        .picture img { opacity: 0; transition: opacity .4s; }
        .picture img.shown { opacity: 1; }
        .indicator {
          position: absolute; left: 50%; top: 50%; width: 22px; height: 22px; margin: -11px; border-radius: 50%;
          border: 3px solid var(--card); border-top-color: var(--accent); animation: turn 1s linear infinite;
        }
        @keyframes turn { to { transform: rotate(1turn); } }
        .overlay {
          position: absolute; inset: auto 0 0; padding: 3px 10px; background: var(--card);
          border-top: 2px solid; font-size: 12px; font-weight: 600;
        }
        .badge {
          position: absolute; right: 6px; top: 6px; padding: 1px 7px; border-radius: 9px; font-size: 11px;
          background: var(--card); color: var(--text);
        }
        .item .name { padding: 6px 10px 0; font-size: 13px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
        .item .facts {
          margin: 0 10px 8px; font-size: 12px; color: var(--quiet); overflow: hidden; overflow-wrap: anywhere;
          display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2;
        }
        .item .facts.bad { color: var(--bad); }
        .bare { align-self: start; min-height: 118px; }
        .bare .state { align-self: flex-start; margin: 8px 10px 0; font-size: 12px; }
        .bare .name { padding-top: 3px; }
        .bare .folder {
          margin: 0 10px; font-size: 12px; line-height: 1.3; color: var(--quiet); white-space: nowrap; overflow: hidden;
          text-overflow: ellipsis;
        }
        dialog.wide {
          width: min(1080px, 94vw); max-width: none; max-height: 92vh; overflow: auto; padding: 0 20px 20px;
        }
        .head {
          display: flex; gap: 12px; justify-content: space-between; align-items: start; position: sticky; top: 0;
          z-index: 1; padding: 16px 0 8px; background: var(--card);
        }
        .head h2 { margin: 0; } .wide > p { margin: 10px 0 16px; }
        .sight {
          display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 16px 28px; align-items: start;
        }
        .sight .controls { margin-top: 0; } .sight .quiet { font-size: 13px; }
        .files { margin: 0; padding: 0; list-style: none; }
        .files li { padding: 10px 0; border-top: 1px solid var(--line); }
        .files li:first-child { border-top: 0; padding-top: 0; }
        .pair { display: flex; gap: 10px; align-items: start; justify-content: space-between; margin-top: 6px; }
        .pair code { overflow-wrap: anywhere; } .pair button { flex: none; padding: 1px 9px; font-size: 13px; }
        .compare {
          position: relative; max-height: 50vh; margin: 8px 0; background: var(--bar); border-radius: 6px; overflow: hidden;
        }
        .compare img, .compare canvas { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: contain; }
        .compare img + img { background: var(--bar); }
        .border { position: absolute; top: 0; bottom: 0; width: 2px; margin-left: -1px; background: var(--card); outline: 1px solid var(--text); }
        .slider { display: block; padding: 0; margin: 4px 0; }
        .copied { position: fixed; left: 0; top: 0; width: 1px; height: 1px; opacity: 0; }
        @media (prefers-reduced-motion: reduce) {
          html { scroll-behavior: auto; }
          .picture img { transition: none; }
          .indicator { animation: none; }
        }
        @media (max-width: 760px) { .sight { grid-template-columns: minmax(0, 1fr); } }
        @media (max-width: 600px) {
          html { scroll-padding-top: 64px; }
          header { position: sticky; flex-wrap: nowrap; gap: 10px; padding-top: 6px; padding-bottom: 6px; }
          header strong { flex: none; }
          nav { order: 0; flex: 1 1 0; min-width: 0; gap: 2px; scrollbar-width: none; } nav a { white-space: nowrap; }
          .controls label { flex: 1 1 100px; } .controls label:first-child { flex-basis: 100%; }
          td.bars { display: none; } td.long { min-width: 150px; } th, td { padding: 7px 10px; min-width: 70px; }
          h2 { font-size: 18px; } section { margin-top: 28px; }
          .gallery { grid-template-columns: repeat(2, 1fr); }
          .causes table, .causes tbody { display: block; }
          .causes tr { display: grid; grid-template-columns: auto 1fr; border-bottom: 1px solid var(--line); padding: 6px 0; }
          .causes thead { display: none; } .causes tr:last-child { border-bottom: 0; }
          .causes td { border: 0; padding: 2px 10px; min-width: 0; } .causes td.number { min-width: 56px; }
          .causes td:last-child { grid-column: 2; font-size: 13px; }
          .picture { height: 110px; }
        }
        @media print {
          header, .controls, #more { display: none; }
          .scroll { overflow: visible; }
        }

        """
}
