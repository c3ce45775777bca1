/// What a report adds to the stylesheet.
enum ReportStyle {
    static let text = """
        html { scroll-behavior: smooth; }
        main p { overflow-wrap: anywhere; }
        section { scroll-margin-top: 12px; }
        .sentence { font-size: 18px; margin: 4px 0 12px; }
        .sentence + .bar { margin-bottom: 16px; }
        .fill-accent { fill: var(--accent); } .fill-none { fill: transparent; }
        h3 { font-size: 15px; margin: 20px 0 8px; }
        td .bar { margin-top: 7px; min-width: 60px; }
        td.long code, li code { overflow-wrap: anywhere; }
        code { font: 13px/1.5 ui-monospace, "Liberation Mono", monospace; }
        .cause {
          background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--bad);
          border-radius: 8px; padding: 6px 14px; margin: 6px 0;
        }
        .cause p { margin: 4px 0; } .cause ul { margin: 6px 0; padding-left: 20px; }
        .action { color: var(--quiet); font-size: 14px; }
        summary { cursor: pointer; }
        .controls { display: flex; flex-wrap: wrap; gap: 8px 14px; margin: 10px 0; align-items: end; }
        .controls label { display: grid; font-size: 13px; color: var(--quiet); }
        .controls label:first-child { flex: 1 1 220px; }
        select {
          font: inherit; color: var(--text); background: var(--card); border: 1px solid var(--line);
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
        .picture.failed { display: grid; place-items: center; color: var(--bad); font-weight: 600; }
        .item .name { padding: 6px 10px 0; font-size: 13px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
        .item .facts { padding: 0 10px 8px; font-size: 12px; color: var(--quiet); }
        dialog.wide { width: min(900px, 94vw); max-width: none; max-height: 92vh; overflow: auto; }
        dialog h2 { margin: 0 0 10px; overflow-wrap: anywhere; }
        .compare { position: relative; height: min(50vh, 420px); background: var(--bar); border-radius: 8px; overflow: hidden; }
        .compare img, .compare canvas { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: contain; }
        .slider { width: 100%; }
        @media (prefers-reduced-motion: reduce) {
          html { scroll-behavior: auto; }
          .picture img { transition: none; }
        }
        @media (max-width: 600px) {
          .gallery { grid-template-columns: repeat(2, 1fr); }
        }
        @media print {
          header, .controls, #more { display: none; }
          .scroll { overflow: visible; }
        }

        """
}
